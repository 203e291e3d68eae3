/** Keeps one connection bound: connects, binds, and repeats both when the connection ends. */
import { assert } from "../../lib/assert.ts";
import { backoffMs } from "../../lib/backoff.ts";
import type { Log } from "../../model/log.ts";
import { pause } from "../../lib/wait.ts";
import { causeOf } from "../../outbound/failure.ts";
import { openSocket, type SocketTarget } from "../../outbound/open-socket.ts";
import type { LinkState } from "../provider.ts";
import { STATUS, type ShortMessage } from "./pdu.ts";
import { Session } from "./session.ts";
import { smppTimes, type SmppSettings, type SmppTimes, type SmscAddress } from "./settings.ts";
import { bindRefusal, statusCode } from "./status.ts";

export type BindMode = "transceiver" | "transmitter" | "receiver";

export type BindParts = {
  mode: BindMode;
  settings: SmppSettings;
  /** The carrier's addresses. Each attempt takes the next one. */
  addresses: readonly SmscAddress[];
  log: Log;
  deliver: (short: ShortMessage) => Promise<number>;
  onAcknowledged: (short: ShortMessage, isWritten: boolean) => void;
  onBound: (session: Session) => void;
  /** Called when no more requests can be made. */
  onClosing: (session: Session) => void;
  changed: () => void;
};

/** The carrier refuses the system id, the password or every bind: another attempt soon does not help. */
const LASTING_REFUSALS: ReadonlySet<number> = new Set([STATUS.bindFailed, STATUS.invalidPassword, STATUS.invalidSystemId]);

type BindOutcome =
  | { kind: "ended"; lastedMs: number; reason: string }
  | { kind: "failed"; reason: string }
  | { kind: "refused"; status: number };

export class Bind {
  readonly #parts: BindParts;
  readonly #times: SmppTimes;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #session: Session | undefined;
  #state: LinkState = { kind: "connecting", reason: null };
  #failures = 0;
  #attempts = 0;

  constructor(parts: BindParts) {
    this.#parts = parts;
    this.#times = smppTimes(parts.settings);
    this.#running = this.#run();
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Unbinds. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#session?.unbind();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const outcome = await this.#connect();
      if (this.#stop.signal.aborted) return;
      await pause(this.#waitAfter(outcome), this.#stop.signal);
    }
  }

  async #connect(): Promise<BindOutcome> {
    const { mode, settings, log, deliver, onAcknowledged, onBound } = this.#parts;
    const address = this.#nextAddress();
    const socket = await openSocket(socketTarget(settings, address), this.#times.connectMs, this.#stop.signal);
    if (socket instanceof Error) return { kind: "failed", reason: causeOf(socket) };
    const onClosing = (): void => {
      this.#parts.onClosing(session);
      if (this.#state.kind === "connected") this.#setState({ kind: "connecting", reason: "the connection ends" });
    };
    const session = new Session({
      socket,
      times: this.#times,
      log,
      deliver,
      onAcknowledged,
      onClosing,
      maxTimeouts: settings.window,
    });
    this.#session = session;
    const refused = await this.#bind(session);
    if (refused !== undefined) return refused;
    const boundAt = performance.now();
    log.info({ mode, ...address }, "smpp: bound");
    onBound(session);
    this.#setState({ kind: "connected", reason: null });
    const reason = await session.ended;
    return { kind: "ended", lastedMs: performance.now() - boundAt, reason };
  }

  /** A carrier with several hosts has another one when the first fails. */
  #nextAddress(): SmscAddress {
    const { addresses } = this.#parts;
    const address = addresses[this.#attempts % addresses.length];
    assert(address !== undefined, "an SMPP link has an address");
    this.#attempts += 1;
    return address;
  }

  async #bind(session: Session): Promise<BindOutcome | undefined> {
    const { mode, settings } = this.#parts;
    const limits = { limitMs: this.#times.bindMs, signal: this.#stop.signal };
    const outcome = await session.request(bindRequest(mode, settings), limits);
    const isBound = outcome.kind === "response" && outcome.pdu.status === STATUS.ok && outcome.pdu.command === `bind_${mode}_resp`;
    if (isBound && session.isOpen) return undefined;
    session.end("not bound");
    if (outcome.kind === "response" && outcome.pdu.status !== STATUS.ok) return { kind: "refused", status: outcome.pdu.status };
    return { kind: "failed", reason: "detail" in outcome ? outcome.detail : "the bind was not answered as one" };
  }

  /** Every wait is random, so that links that failed together do not reconnect together. */
  #waitAfter(outcome: BindOutcome): number {
    const { firstReconnectMs, maxReconnectMs, refusedMs, stableMs } = this.#times;
    const isLasting = outcome.kind === "refused" && LASTING_REFUSALS.has(outcome.status);
    const reason = outcome.kind === "refused" ? bindRefusal(outcome.status) : outcome.reason;
    this.#setState({ kind: isLasting ? "paused" : "connecting", reason });
    if (isLasting) {
      this.#parts.log.error(
        { event: "smpp.bind_refused", mode: this.#parts.mode, status: statusCode(outcome.status), reason },
        "smpp: the carrier refuses the bind",
      );
      return refusedMs * (0.75 + Math.random() / 2);
    }
    this.#failures = outcome.kind === "ended" && outcome.lastedMs >= stableMs ? 1 : this.#failures + 1;
    this.#parts.log.warn({ event: "smpp.not_bound", mode: this.#parts.mode, reason, failures: this.#failures }, "smpp: not bound");
    return backoffMs(this.#failures, firstReconnectMs, maxReconnectMs);
  }

  #setState(state: LinkState): void {
    this.#state = state;
    this.#parts.changed();
  }
}

export function bindRequest(mode: BindMode, settings: SmppSettings) {
  const { systemId, password, systemType, interfaceVersion, bindTon, bindNpi, addressRange } = settings;
  const bind = { systemId, password, systemType, interfaceVersion, range: { ton: bindTon, npi: bindNpi, text: addressRange } };
  return { command: `bind_${mode}`, bind } as const;
}

// A turn handles at most a thousand PDUs of one connection.
const PIECE_BYTES = 16_384;

export const socketTarget = (settings: SmppSettings, { host, port }: SmscAddress): SocketTarget => ({
  host,
  port,
  isTls: settings.tls,
  serverName: settings.tlsServerName,
  ca: settings.tlsCa,
  cert: settings.tlsCert,
  key: settings.tlsKey,
  gate: settings.gate,
  pieceBytes: PIECE_BYTES,
});
