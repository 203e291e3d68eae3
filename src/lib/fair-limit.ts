/** Runs work of several owners: at most so many pieces at a time, and fewer of one owner while others have work too. Owners that wait take
 *  turns, so that an owner with much work delays the others by no more than its few pieces that are running. */
export type FairLimits = {
  /** Pieces of work that run at a time. */
  total: number;
  /** Pieces of one owner that run at a time while no other owner has work. */
  alone: number;
  /** The same after another owner had work a moment ago. */
  shared: number;
  /** Pieces of one owner that wait. */
  maxWaiting: number;
};

/** How many pieces of an owner may run now, at least one, beside the other limits, and a callback for each piece that has to wait for that reason. */
export type Room = { roomFor: (owner: string) => number; heldBack: () => void };

const ANY: Room = { roomFor: () => Infinity, heldBack: () => undefined };

type Piece = { startedAtMs: number };
/** The running pieces are in the order of their start. */
type Owner = { running: Set<Piece>; waiting: ((piece: Piece) => void)[] };
// An owner counts as one that has work for this time after its last piece. An owner with a piece every few seconds has its part as well.
const ACTIVE_MS = 10_000;
// A piece that has run for this time may be stuck, on a lock for example. One more piece of its owner may run beside it.
const STUCK_MS = 250;

export class FairLimit {
  readonly #limits: FairLimits;
  readonly #now: () => number;
  readonly #room: Room;
  /** In the order of turns: the owner whose work started or ended last is the last one. Owners without work are removed. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;
  #waiting = 0;
  #isScheduled = false;
  #isWatching = false;
  /** The owner of the last piece of work, when it was, and when the last one of another owner was. */
  #lastOwner = "";
  #lastMs = Number.NEGATIVE_INFINITY;
  #lastOtherMs = Number.NEGATIVE_INFINITY;

  constructor(limits: FairLimits, now = () => performance.now(), room = ANY) {
    this.#limits = limits;
    this.#now = now;
    this.#room = room;
  }

  /** Whether the owner has so much work waiting that no more should be added. `most` is for work that is refused earlier. */
  isFull(owner: string, most = this.#limits.maxWaiting): boolean {
    return (this.#owners.get(owner)?.waiting.length ?? 0) >= most;
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const owner = this.#ownerOf(name);
    const isFirst = owner.waiting.length === 0 && this.#mayStart(name, owner);
    if (!isFirst && !this.#hasRoom(name, owner)) this.#room.heldBack();
    const piece = isFirst ? this.#start(name, owner) : await this.#turnOf(owner);
    try {
      return await work();
    } finally {
      this.#end(name, owner, piece);
    }
  }

  /** Records that the owner has work, here or elsewhere. */
  note(owner: string): void {
    if (this.#lastOwner !== owner) this.#lastOtherMs = this.#lastMs;
    this.#lastOwner = owner;
    this.#lastMs = this.#now();
  }

  #turnOf(owner: Owner): Promise<Piece> {
    this.#waiting += 1;
    this.#watch();
    return new Promise((resolve) => owner.waiting.push(resolve));
  }

  #ownerOf(name: string): Owner {
    let owner = this.#owners.get(name);
    if (owner === undefined) this.#owners.set(name, (owner = { running: new Set(), waiting: [] }));
    return owner;
  }

  #mayStart(name: string, { running }: Owner): boolean {
    const { total, alone, shared } = this.#limits;
    if (this.#running >= total) return false;
    if (!this.#hasRoom(name, { running })) return false;
    const limit = this.#isShared(name) ? shared : alone;
    // The last place is kept for an owner that has none.
    return running.size < limit || (running.size === limit && this.#running < total - 1 && this.#isStuck(running));
  }

  #hasRoom(name: string, { running }: Pick<Owner, "running">): boolean {
    return running.size < this.#room.roomFor(name);
  }

  #isShared(name: string): boolean {
    return this.#now() - (this.#lastOwner === name ? this.#lastOtherMs : this.#lastMs) < ACTIVE_MS;
  }

  #isStuck(running: ReadonlySet<Piece>): boolean {
    const [oldest] = running;
    return oldest !== undefined && this.#now() - oldest.startedAtMs > STUCK_MS;
  }

  #start(name: string, owner: Owner): Piece {
    const piece = { startedAtMs: this.#now() };
    owner.running.add(piece);
    this.#running += 1;
    this.#moveToEnd(name, owner);
    return piece;
  }

  #end(name: string, owner: Owner, piece: Piece): void {
    owner.running.delete(piece);
    this.#running -= 1;
    if (owner.running.size === 0 && owner.waiting.length === 0) this.#owners.delete(name);
    else this.#moveToEnd(name, owner);
    if (this.#waiting > 0) this.#schedule();
  }

  #moveToEnd(name: string, owner: Owner): void {
    this.#owners.delete(name);
    this.#owners.set(name, owner);
  }

  /** Starts further pieces in the next turn of the event loop. Pieces that do not wait for anything would follow each other in one turn
   *  otherwise, and nothing else would run. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#startWaiting();
    });
  }

  /** Looks for stuck pieces while others wait. */
  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    setTimeout(() => {
      this.#isWatching = false;
      this.#startWaiting();
      if (this.#waiting > 0) this.#watch();
    }, STUCK_MS).unref();
  }

  #startWaiting(): void {
    // A start moves its owner to the end, where the loop comes to it again.
    for (const [name, owner] of this.#owners) {
      if (owner.waiting.length === 0 || !this.#mayStart(name, owner)) continue;
      this.#waiting -= 1;
      owner.waiting.shift()?.(this.#start(name, owner));
    }
  }
}
