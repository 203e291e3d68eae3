/** The settings of tracing: the collector and the sampling, from the environment variables of OpenTelemetry's specification. */
import { parseBoundedUrl } from "../lib/urls.ts";

// The only sampler: the caller decides about its traces, and the ratio about those that begin here.
const SAMPLER = "parentbased_traceidratio";
// The default of OpenTelemetry, which is often set for all programs of a machine: a ratio of 1.
const ALWAYS = "parentbased_always_on";

export const TRACING_SETTINGS = {
  otlpEndpoint: {
    flag: "otlp-endpoint",
    value: "URL",
    example: "http://127.0.0.1:4318",
    env: "OTEL_EXPORTER_OTLP_ENDPOINT",
    help: "base URL of an OpenTelemetry collector, over HTTP; spans go to `/v1/traces` below it",
  },
  otlpTracesEndpoint: {
    flag: "otlp-traces-endpoint",
    value: "URL",
    example: "http://127.0.0.1:4318/v1/traces",
    env: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    help: "complete URL for spans, in place of the base URL",
  },
  serviceName: {
    flag: "service-name",
    value: "NAME",
    env: "OTEL_SERVICE_NAME",
    fallback: "godwit",
    help: "name of this service in traces",
  },
  tracesSampler: {
    flag: "traces-sampler",
    value: "SAMPLER",
    env: "OTEL_TRACES_SAMPLER",
    fallback: SAMPLER,
    help: "the caller decides about its traces, and the ratio about those that begin here; `parentbased_always_on` stands for a ratio of 1",
  },
  tracesSamplerArg: {
    flag: "traces-sampler-arg",
    value: "RATIO",
    env: "OTEL_TRACES_SAMPLER_ARG",
    fallback: "1",
    help: "share of the traces that begin here and are recorded, from 0 to 1",
  },
  otlpHeaders: {
    flag: "",
    env: "OTEL_EXPORTER_OTLP_HEADERS",
    isSecret: true,
    help: "headers for the collector: `name=value,…`",
  },
} as const;

export type TracingSettings = {
  url: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  /** The share of the traces that begin here and are recorded. */
  ratio: number;
};

type SettingText = { text: string | undefined; from: string };

/** Reads the settings. Undefined if no collector is configured: then nothing is recorded, and the other variables are ignored, since
 *  they may be meant for other programs. */
export function readTracing(read: (name: keyof typeof TRACING_SETTINGS) => SettingText, faults: string[]): TracingSettings | undefined {
  const url = readUrl(read("otlpTracesEndpoint"), faults) ?? tracesUrl(readUrl(read("otlpEndpoint"), faults));
  if (url === undefined) return undefined;
  return {
    url: url.href,
    headers: readHeaders(read("otlpHeaders"), faults),
    serviceName: read("serviceName").text ?? "godwit",
    ratio: readRatio(read("tracesSampler"), read("tracesSamplerArg"), faults),
  };
}

/** The URL for traces below the endpoint for all signals. */
function tracesUrl(base: URL | undefined): URL | undefined {
  if (base !== undefined) base.pathname = `${base.pathname.replace(/\/$/, "")}/v1/traces`;
  return base;
}

function readUrl({ text, from }: SettingText, faults: string[]): URL | undefined {
  if (text === undefined) return undefined;
  const url = parseBoundedUrl(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "") return url;
  faults.push(`${from}: must be an http or https URL without a password in it, such as http://127.0.0.1:4318`);
  return undefined;
}

function readRatio(sampler: SettingText, arg: SettingText, faults: string[]): number {
  if (sampler.text === ALWAYS) return 1;
  if (sampler.text !== SAMPLER)
    faults.push(`${sampler.from}: must be ${SAMPLER}, not "${sampler.text}": ${arg.from} is the share of the traces that begin here`);
  const ratio = Number(arg.text);
  if (!(ratio >= 0 && ratio <= 1)) faults.push(`${arg.from}: must be a number from 0 to 1, not "${arg.text}"`);
  return ratio;
}

/** Parses names and values in the form of a baggage header, with percent escapes. */
function readHeaders({ text, from }: SettingText, faults: string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of (text ?? "").split(",").filter((each) => each.trim() !== "")) {
    const [, name, value] = /^\s*([\w-]+)\s*=\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/.exec(pair) ?? [];
    const decoded = value === undefined ? undefined : unescape(value);
    // The value is a secret, so the fault does not repeat it.
    if (name === undefined || decoded === undefined) faults.push(`${from}: must be pairs of name=value with commas between them`);
    else headers[name.toLowerCase()] = decoded;
  }
  return headers;
}

function unescape(value: string): string | undefined {
  try {
    const text = decodeURIComponent(value);
    return /^[\x20-\x7e]*$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
