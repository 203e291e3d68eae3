{{- define "godwit.name" -}}
{{- if contains "godwit" .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-godwit" .Release.Name }}{{ end -}}
{{- end }}

{{- define "godwit.selector" -}}
app.kubernetes.io/name: godwit
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "godwit.labels" -}}
{{ include "godwit.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "godwit.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "godwit.scheme" -}}
{{ if .Values.tls.secret }}https{{ else }}http{{ end }}
{{- end }}

{{/* The context of a pod. The image has the user 10001, and secrets are readable for its group. */}}
{{- define "godwit.pod" -}}
serviceAccountName: {{ .Values.serviceAccountName }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "godwit.container" -}}
image: {{ include "godwit.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources: {{ toJson .Values.resources }}
{{- end }}

{{/* DNS, and the database. */}}
{{- define "godwit.egress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
{{- range .Values.networkPolicy.database }}
- {{ toJson . }}
{{- end }}
{{- end }}

{{- define "godwit.databaseCa" -}}
{{- with .Values.databaseCa }}
{{- if .secret }}
- name: database-ca
  secret: { secretName: {{ .secret }}, defaultMode: 0440, items: [{ key: {{ .key | quote }}, path: {{ .key | quote }} }] }
{{- end }}
{{- end }}
{{- end }}
