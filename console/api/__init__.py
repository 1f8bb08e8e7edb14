"""The HTTP API: /v1 over the engine's verbs, for programs in any language. docs/use/http-api.md says how it is used."""
