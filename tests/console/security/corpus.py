"""Hostile texts, each of which would do something where it is not text. Short: the shortest fields take 100."""

from __future__ import annotations

# Out of attributes, titles, text fields, scripts and comments; elements that run by themselves.
ELEMENTS = "\"'></title></textarea></script>--><corpus-x><script>alert(1)</script><img src=x onerror=alert(2)>"
# Attributes of the element it stands in, addresses, templates.
ATTRIBUTES = "javascript:alert(3)//\" onfocus=alert(4) autofocus corpus-y='{{7*7}}{% now 'Y' %}${7*7}<!--"
# Spreadsheets take it for a formula, logs for another line, Prometheus for another series, terminals for a colour.
LINES = "=cmd|'/c calc'!A1\"} 1\nsignalbox_forged{x=\"1\r\n\t\x1b[31m\\\u2028\u202e</script><svg/onload=alert(5)>"
# For fields that take whole documents.
DOCUMENTS = f"{ELEMENTS}{ATTRIBUTES}{LINES}"

FOR_PAGES = {"elements": ELEMENTS, "attributes": ATTRIBUTES}
