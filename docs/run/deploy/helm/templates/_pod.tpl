{{- define "signalbox.labels" -}}
app.kubernetes.io/name: signalbox
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- /* The pod of one part; `words` are the arguments of the image's program. */ -}}
{{- define "signalbox.pod" -}}
metadata:
  labels: {{- include "signalbox.labels" . | nindent 4 }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 60
  securityContext:
    {runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
  {{- if eq .part "migrate" }}
  restartPolicy: Never
  {{- end }}
  containers:
    - name: {{ .part }}
      image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ .words | toJson }}
      envFrom: [{secretRef: {name: {{ .root.Values.secret | quote }}}}]
      env:
        {{- range $name, $value := .root.Values.environment }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
      securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
      {{- with .resources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if eq .part "console" }}
      ports: [{name: http, containerPort: 8000}]
      # Not /healthz: a console without its database still says so to people.
      readinessProbe: {tcpSocket: {port: http}, periodSeconds: 5}
      {{- end }}
      volumeMounts:
        - {name: home, mountPath: /var/lib/signalbox}
        - {name: scratch, mountPath: /tmp}
  volumes:
    - name: home
      {{- if .root.Values.claim }}
      persistentVolumeClaim: {claimName: {{ .root.Values.claim | quote }}}
      {{- else }}
      emptyDir: {}
      {{- end }}
    - {name: scratch, emptyDir: {}}
{{- end }}
