/** Runs work of several owners: at most so many pieces at a time, and fewer of one owner. Owners that wait take turns, so that an owner with
 *  much work delays the others by no more than the pieces that are running. */
export type FairLimits = {
  /** Pieces of work that run at a time. */
  total: number;
  perOwner: number;
  /** Pieces of one owner that wait. */
  maxWaiting: number;
};

type Owner = { running: number; waiting: (() => void)[] };

export class FairLimit {
  readonly #limits: FairLimits;
  /** In the order of turns: the owner whose work started or ended last is the last one. Owners without work are removed. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;

  constructor(limits: FairLimits) {
    this.#limits = limits;
  }

  /** Whether the owner has so much work waiting that no more should be added. */
  isFull(owner: string): boolean {
    return (this.#owners.get(owner)?.waiting.length ?? 0) >= this.#limits.maxWaiting;
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const mine = this.#ownerOf(owner);
    if (mine.waiting.length === 0 && this.#mayStart(mine)) this.#start(owner, mine);
    else await new Promise<void>((resolve) => mine.waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#end(owner, mine);
    }
  }

  #ownerOf(name: string): Owner {
    let owner = this.#owners.get(name);
    if (owner === undefined) this.#owners.set(name, (owner = { running: 0, waiting: [] }));
    return owner;
  }

  #mayStart({ running }: Owner): boolean {
    return this.#running < this.#limits.total && running < this.#limits.perOwner;
  }

  #start(name: string, owner: Owner): void {
    owner.running += 1;
    this.#running += 1;
    this.#moveToEnd(name, owner);
  }

  #moveToEnd(name: string, owner: Owner): void {
    this.#owners.delete(name);
    this.#owners.set(name, owner);
  }

  #end(name: string, owner: Owner): void {
    owner.running -= 1;
    this.#running -= 1;
    if (owner.running === 0 && owner.waiting.length === 0) this.#owners.delete(name);
    else this.#moveToEnd(name, owner);
    for (const [next, each] of this.#owners) {
      if (each.waiting.length === 0 || !this.#mayStart(each)) continue;
      this.#start(next, each);
      each.waiting.shift()?.();
      // One piece has ended, so one may start.
      return;
    }
  }
}
