/** A budget that several owners share: connections, requests or bytes. No owner can take more than its share, so that others find
 *  some left, and each can take its least amount even if the others have taken the total. Owners without anything taken are forgotten. */
export class SharedBudget {
  readonly #total: number;
  readonly #share: number;
  readonly #least: number;
  readonly #taken = new Map<string, number>();
  #sum = 0;

  constructor({ total, share, least = 0 }: { total: number; share: number; least?: number }) {
    this.#total = total;
    this.#share = share;
    this.#least = least;
  }

  get taken(): number {
    return this.#sum;
  }

  /** The number of owners that have taken something. */
  get owners(): number {
    return this.#taken.size;
  }

  /** Takes the amount, or returns the limit that it would exceed and takes nothing. */
  take(owner: string, amount: number): "share" | "total" | undefined {
    const mine = (this.#taken.get(owner) ?? 0) + amount;
    if (mine > this.#share) return "share";
    if (this.#sum + amount > this.#total && mine > this.#least) return "total";
    this.#taken.set(owner, mine);
    this.#sum += amount;
    return undefined;
  }

  release(owner: string, amount: number): void {
    const left = (this.#taken.get(owner) ?? 0) - amount;
    if (left > 0) this.#taken.set(owner, left);
    else this.#taken.delete(owner);
    this.#sum -= amount;
  }
}
