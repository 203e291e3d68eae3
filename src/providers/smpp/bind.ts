/** Keeps one connection bound: connects, binds, and does it again when it ends. */
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Log } from "../../lib/log.ts";
import { pause } from "../../lib/wait.ts";
import type { LinkState } from "../provider.ts";
import { STATUS, type Short } from "./pdu.ts";
import { Session } from "./session.ts";
import { timesOf, type SmppSettings, type SmppTimes } from "./settings.ts";
import { statusCode } from "./status.ts";

export type BindMode = "transceiver" | "transmitter" | "receiver";

export type BindParts = {
  mode: BindMode;
  settings: SmppSettings;
  log: Log;
  deliver: (short: Short) => Promise<number>;
  unheard: (short: Short) => void;
  /** The session that is bound, or undefined when there is none any more. */
  use: (session: Session | undefined) => void;
  changed: () => void;
};

/** Our name or password is refused, or all binds: asking again soon does not help. */
const REFUSALS: ReadonlySet<number> = new Set([STATUS.bindFailed, STATUS.invalidPassword, STATUS.invalidSystemId]);

type Try = { kind: "ended"; lastedMs: number; reason: string } | { kind: "failed"; reason: string } | { kind: "refused"; status: number };

export class Bind {
  readonly #parts: BindParts;
  readonly #times: SmppTimes;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #session: Session | undefined;
  #state: LinkState = { kind: "connecting", reason: null };
  #failures = 0;

  constructor(parts: BindParts) {
    this.#parts = parts;
    this.#times = timesOf(parts.settings);
    this.#running = this.#run();
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Ends in the carrier's manner. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#session?.unbind();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const outcome = await this.#once();
      if (this.#stop.signal.aborted) return;
      await pause(this.#waitAfter(outcome), this.#stop.signal);
    }
  }

  async #once(): Promise<Try> {
    const { mode, settings, log, deliver, unheard, use } = this.#parts;
    const socket = await openSocket(settings, this.#times.connectMs, this.#stop.signal);
    if (typeof socket === "string") return { kind: "failed", reason: socket };
    const leaving = (): void => {
      use(undefined);
      if (this.#state.kind === "connected") this.#become({ kind: "connecting", reason: "the connection ends" });
    };
    const session = new Session({ socket, times: this.#times, log, deliver, unheard, leaving, maxSilences: settings.window });
    this.#session = session;
    const refused = await this.#bind(session);
    if (refused !== undefined) return refused;
    const boundAt = performance.now();
    log.info({ mode }, "smpp: bound");
    use(session);
    this.#become({ kind: "connected", reason: null });
    const reason = await session.ended;
    return { kind: "ended", lastedMs: performance.now() - boundAt, reason };
  }

  async #bind(session: Session): Promise<Try | undefined> {
    const { mode, settings } = this.#parts;
    const { systemId, password, systemType, addressRange } = settings;
    const bind = { systemId, password, systemType, addressRange };
    const limits = { limitMs: this.#times.bindMs, signal: this.#stop.signal };
    const answer = await session.request({ command: `bind_${mode}`, bind }, limits);
    const isBound = answer.kind === "answer" && answer.pdu.status === STATUS.ok && answer.pdu.command === `bind_${mode}_resp`;
    if (isBound && session.isOpen) return undefined;
    session.end("not bound");
    if (answer.kind === "answer" && answer.pdu.status !== STATUS.ok) return { kind: "refused", status: answer.pdu.status };
    return { kind: "failed", reason: "detail" in answer ? answer.detail : "the bind was not answered as one" };
  }

  /** Every wait is random, so that links that fell together do not come back together. */
  #waitAfter(outcome: Try): number {
    const { firstReconnectMs, maxReconnectMs, refusedMs, stableMs } = this.#times;
    const isLasting = outcome.kind === "refused" && REFUSALS.has(outcome.status);
    const reason = outcome.kind === "refused" ? `bind refused with ${statusCode(outcome.status)}` : outcome.reason;
    this.#become({ kind: isLasting ? "paused" : "connecting", reason });
    if (isLasting) {
      this.#parts.log.error(
        { event: "smpp.bind_refused", mode: this.#parts.mode, status: statusCode(outcome.status) },
        "smpp: the carrier refuses the bind",
      );
      return refusedMs * (0.75 + Math.random() / 2);
    }
    this.#failures = outcome.kind === "ended" && outcome.lastedMs >= stableMs ? 1 : this.#failures + 1;
    this.#parts.log.warn({ event: "smpp.not_bound", mode: this.#parts.mode, reason, failures: this.#failures }, "smpp: not bound");
    return fullJitter(this.#failures, firstReconnectMs, maxReconnectMs);
  }

  #become(state: LinkState): void {
    this.#state = state;
    this.#parts.changed();
  }
}

/** Anything up to a time that doubles; not quite nothing, or a run of luck would be a tight loop. */
const fullJitter = (failures: number, firstMs: number, mostMs: number): number =>
  Math.max(firstMs / 4, Math.random() * Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 20)));

/** The socket when it is connected, or why it is not. */
function openSocket(settings: SmppSettings, limitMs: number, stop: AbortSignal): Promise<Socket | string> {
  const { host, port, tls, tlsServerName, tlsCa } = settings;
  if (stop.aborted) return Promise.resolve("the link is closed");
  const secure = { ...(tlsServerName ? { servername: tlsServerName } : {}), ...(tlsCa ? { ca: tlsCa } : {}) };
  const socket = tls ? connectTls({ host, port, ...secure }) : connectPlain({ host, port });
  return new Promise((resolve) => {
    const settle = (outcome: Socket | string): void => {
      clearTimeout(timer);
      stop.removeEventListener("abort", giveUp);
      socket.removeAllListeners("error");
      if (typeof outcome === "string") socket.on("error", () => undefined).destroy();
      resolve(outcome);
    };
    const giveUp = (): void => settle("the link is closed");
    const timer = setTimeout(() => settle("no connection in time"), limitMs);
    stop.addEventListener("abort", giveUp, { once: true });
    socket.once("error", (error: NodeJS.ErrnoException) => settle(error.code ?? "no connection"));
    socket.once(tls ? "secureConnect" : "connect", () => {
      socket.setNoDelay(true);
      settle(socket);
    });
  });
}
