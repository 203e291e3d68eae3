/** A link that one node at a time has open. The connection exists only while this node holds the lease. */
import { errorFields, reportError, type Log } from "../model/log.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { within } from "../lib/wait.ts";
import { cannotBeOpened } from "./pauses.ts";
import { LINK_ELSEWHERE, type Begin, type Connection, type LinkState, type Outgoing, type SendOutcome } from "../providers/provider.ts";
import type { LinkLease } from "./lease.ts";

// A carrier that does not complete the close must not delay the next node for long.
const CLOSE_MS = 4_000;

const ELSEWHERE: LinkState = { kind: "connecting", reason: "another node has the link" };

export type LeasedParts = { lease: LinkLease; window: number; open: () => Promise<Connection>; changed: () => void; log: Log };

export class LeasedConnection implements Connection {
  readonly #parts: LeasedParts;
  readonly #job: RepeatingJob;
  #inner: Connection | undefined;
  /** Why this node, which has the lease, could not open the link. */
  #fault: string | undefined;
  #opening: Promise<void> | undefined;
  #isClosing = false;

  constructor(parts: LeasedParts) {
    this.#parts = parts;
    this.#job = new RepeatingJob({ onError: reportError(parts.log, "links.lease_failed", "the lease of a link could not be renewed") });
  }

  start(): void {
    this.#job.repeat(async () => {
      await this.#renew();
      const { isHeld, leftMs, renewEveryMs } = this.#parts.lease;
      return isHeld ? Math.min(renewEveryMs, leftMs) : renewEveryMs;
    });
  }

  get window(): number {
    return this.#inner?.window ?? this.#parts.window;
  }

  get isReady(): boolean {
    return this.#parts.lease.isHeld && this.#inner?.isReady === true;
  }

  get state(): LinkState {
    if (this.#fault !== undefined) return { kind: "paused", reason: this.#fault };
    if (this.#inner === undefined) return ELSEWHERE;
    return this.#inner.state ?? { kind: this.#inner.isReady ? "connected" : "connecting", reason: null };
  }

  /** Whether this node has the link open, or cannot open it. */
  get isHere(): boolean {
    return this.#inner !== undefined || this.#fault !== undefined;
  }

  async send(message: Outgoing, signal: AbortSignal, begin: Begin, renew?: () => AbortSignal): Promise<SendOutcome> {
    return this.#inner === undefined || !this.#parts.lease.isHeld ? LINK_ELSEWHERE : this.#inner.send(message, signal, begin, renew);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#job.stop();
    if (this.#opening !== undefined) await within(this.#opening, CLOSE_MS);
    await this.#closeInner();
    await within(
      // A lease that cannot be dropped expires within seconds.
      this.#parts.lease.drop().catch(() => undefined),
      CLOSE_MS,
    );
  }

  async #renew(): Promise<void> {
    const { lease } = this.#parts;
    // The lease has expired, perhaps while this process was suspended. The link is closed before the database is asked, which may take time.
    if (!lease.isHeld) await this.#closeLost();
    const isHeld = await lease.hold();
    // The opening runs in the background: a slow carrier must not delay the renewal of the lease.
    if (isHeld && this.#inner === undefined) this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    else if (!isHeld) {
      this.#fault = undefined;
      await this.#closeLost();
    }
  }

  async #closeLost(): Promise<void> {
    const { changed, log } = this.#parts;
    if (this.#inner === undefined) return;
    log.warn({ event: "links.lease_lost" }, "the lease of a link was lost: this node closes the link");
    await this.#closeInner();
    changed();
  }

  async #open(): Promise<void> {
    const { lease, open, changed, log } = this.#parts;
    try {
      this.#inner = await open();
      this.#fault = undefined;
      // Another node may have taken the lease meanwhile.
      if (!lease.isHeld || this.#isClosing) await this.#closeInner();
      else changed();
    } catch (error) {
      this.#fault = cannotBeOpened(String(error));
      log.error({ event: "links.open_failed", ...errorFields(error) }, "a link could not be opened");
    }
  }

  async #closeInner(): Promise<void> {
    const inner = this.#inner;
    this.#inner = undefined;
    if (inner === undefined) return;
    const closed = inner.close().catch(reportError(this.#parts.log, "links.close_failed", "a link could not be closed in order"));
    await within(closed, CLOSE_MS);
  }
}
