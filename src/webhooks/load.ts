/** How many calls may be under way, and whose. An endpoint that answers earns more at a time; one that fails, or lets a call wait,
 *  is left with few, and all of those together have a room of their own: so nobody who answers waits for anyone who does not. */

/** It answered last, nothing is known of it, or it failed last. */
export type Health = "proven" | "unproven" | "failing";

/** Calls under way at most, in all of a kind. */
const ROOM: Readonly<Record<Health, number>> = { proven: 192, unproven: 96, failing: 64 };
const HEALTHS: readonly Health[] = ["proven", "unproven", "failing"];
// Of one endpoint: from the first success on twice as many with each, up to a limit.
const FIRST_CAP = 2;
const MAX_CAP = 64;
const FAILING_CAP = 2;
// What is claimed beyond what is called, so that a call that ends is followed by the next at once.
const AHEAD = 2;
// Forgotten when there are more: whoever comes again is unproven once more.
const MAX_REMEMBERED = 10_000;

type State = { underWay: number; slow: number; cap: number; health: Health };

/** One call. */
export type Slot = { readonly endpoint: string; health: Health; isSlow: boolean };

export class Load {
  readonly #states = new Map<string, State>();
  readonly #underWay: Record<Health, number> = { proven: 0, unproven: 0, failing: 0 };

  get underWay(): number {
    const { proven, unproven, failing } = this.#underWay;
    return proven + unproven + failing;
  }

  /** How many deliveries of these endpoints to claim, of each; `held` are claimed and not begun. */
  allot(endpoints: readonly { name: string; isFailing: boolean; held: number }[]): number[] {
    const all = endpoints.map((endpoint) => ({ ...endpoint, state: this.#state(endpoint.name, endpoint.isFailing) }));
    const counts = Map.groupBy(all, ({ state }) => healthOf(state));
    return all.map(({ state, held }) => {
      const health = healthOf(state);
      const ahead = health === "proven" ? AHEAD : 0;
      const room = Math.max(0, ROOM[health] - this.#underWay[health]);
      const share = Math.max(Math.min(room, 1), Math.floor((room * (1 + ahead)) / (counts.get(health)?.length ?? 1)));
      return Math.max(0, Math.min(share, capOf(state) * (1 + ahead) - state.underWay - held));
    });
  }

  /** Where no further call can begin, whoever's it is. */
  fullRooms(): ReadonlySet<Health> {
    return new Set(HEALTHS.filter((health) => this.#underWay[health] >= ROOM[health]));
  }

  /** A place for one call, or none now. */
  begin(name: string): Slot | undefined {
    const state = this.#state(name, false);
    const health = healthOf(state);
    if (state.underWay >= capOf(state) || this.#underWay[health] >= ROOM[health]) return undefined;
    state.underWay += 1;
    this.#underWay[health] += 1;
    return { endpoint: name, health, isSlow: false };
  }

  /** It takes long: from now on it is counted with those that fail, and its endpoint gets no more than they do. */
  slow(slot: Slot): void {
    if (slot.isSlow) return;
    slot.isSlow = true;
    this.#underWay[slot.health] -= 1;
    slot.health = "failing";
    this.#underWay.failing += 1;
    this.#state(slot.endpoint, false).slow += 1;
  }

  /** With what became of it; without, when the call was not made and nothing was learned. */
  end(slot: Slot, isSuccess?: boolean): void {
    const state = this.#state(slot.endpoint, false);
    state.underWay -= 1;
    this.#underWay[slot.health] -= 1;
    if (slot.isSlow) state.slow -= 1;
    if (isSuccess === undefined) return;
    if (isSuccess) {
      state.cap = state.health === "failing" ? FIRST_CAP : Math.min(MAX_CAP, state.cap * 2);
      state.health = "proven";
    } else state.health = "failing";
  }

  #state(name: string, isFailing: boolean): State {
    let state = this.#states.get(name);
    if (state === undefined) {
      if (this.#states.size >= MAX_REMEMBERED) this.#forgetIdle();
      state = { underWay: 0, slow: 0, cap: FIRST_CAP, health: isFailing ? "failing" : "unproven" };
      this.#states.set(name, state);
    }
    return state;
  }

  #forgetIdle(): void {
    for (const [name, { underWay }] of this.#states) if (underWay === 0) this.#states.delete(name);
  }
}

const healthOf = ({ health, slow }: State): Health => (slow > 0 ? "failing" : health);
const capOf = (state: State): number => (healthOf(state) === "failing" ? FAILING_CAP : state.cap);
