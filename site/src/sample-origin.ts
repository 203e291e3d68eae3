/** The address in the samples of docs/: a service on the own machine at the default port. */
export const SAMPLE_ORIGIN = "http://127.0.0.1:8080";
