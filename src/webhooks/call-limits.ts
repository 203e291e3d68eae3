/** The limits of webhook calls: how many run at a time, and to which endpoints. The cap of an endpoint grows while it responds. An
 *  endpoint that fails, or keeps a call waiting, has a small cap. Calls have three rooms, by the health of their endpoints, so that an
 *  endpoint that responds never waits for endpoints that do not. `planShares` decides how many due deliveries of each endpoint a claim takes. */
import type { Share, TakenGroup } from "../queue/waiting-groups.ts";
import { FRESH, RETRY, type QueuedEndpoint } from "./queue.ts";

/** The last call succeeded, the endpoint was not called yet, or the last call failed. */
export type HealthLevel = "proven" | "unproven" | "failing";

type State = { underWay: number; slow: number; cap: number; health: HealthLevel };

/** One call. */
export type Slot = { readonly endpoint: string; health: HealthLevel; isSlow: boolean };

/** The size of each room: how many calls to endpoints of that health run at a time. */
const ROOM: Readonly<Record<HealthLevel, number>> = { proven: 192, unproven: 96, failing: 64 };
// The cap of one endpoint starts here, and doubles with each success up to the maximum.
const FIRST_CAP = 2;
const MAX_CAP = 64;
const FAILING_CAP = 2;
// Deliveries are claimed for this many further calls per call, so that a call that ends is followed by the next one at once.
const AHEAD = 2;
// Of the room for endpoints that respond, deliveries that are taken over fill at most a half. The queue, which keeps the turns, has the other.
const HANDED_ROOM = 96;
// Beyond this number idle endpoints are forgotten. A forgotten endpoint is unproven again.
const MAX_REMEMBERED = 10_000;

export class CallLimits {
  readonly #states = new Map<string, State>();
  readonly #underWay: Record<HealthLevel, number> = { proven: 0, unproven: 0, failing: 0 };

  get underWay(): number {
    const { proven, unproven, failing } = this.#underWay;
    return proven + unproven + failing;
  }

  /** Returns how many deliveries to claim for each of these endpoints. `waiting` counts claimed deliveries whose call has not begun. */
  allot(endpoints: readonly { name: string; isFailing: boolean; waiting: number }[]): number[] {
    const all = endpoints.map((endpoint) => ({ ...endpoint, state: this.#state(endpoint.name, endpoint.isFailing) }));
    const counts = Map.groupBy(all, ({ state }) => healthOf(state));
    return all.map(({ state, waiting }) => {
      const health = healthOf(state);
      const room = Math.max(0, ROOM[health] - this.#underWay[health]);
      const share = Math.max(Math.min(room, 1), Math.floor((room * perCall(health)) / (counts.get(health)?.length ?? 1)));
      return Math.max(0, Math.min(share, claimCap(state) - state.underWay - waiting));
    });
  }

  /** Whether a delivery may be claimed for the endpoint. `waiting` counts its claimed deliveries whose call has not begun. */
  hasRoom(name: string, waiting: number): boolean {
    const state = this.#states.get(name);
    const health = state === undefined ? "unproven" : healthOf(state);
    const isCapReached = state !== undefined && waiting + state.underWay >= claimCap(state);
    return this.#underWay[health] < ROOM[health] && !isCapReached;
  }

  /** Whether deliveries may be taken over for the endpoint: its last call succeeded, and it has room. */
  mayHandOver(name: string, waiting: number): boolean {
    const state = this.#states.get(name);
    if (state === undefined || healthOf(state) !== "proven") return false;
    return this.#underWay.proven < HANDED_ROOM && waiting + state.underWay < claimCap(state);
  }

  /** Begins a call to an endpoint; undefined if its cap is reached or its room is full. */
  begin(name: string): Slot | undefined {
    const state = this.#state(name, false);
    const health = healthOf(state);
    if (state.underWay >= capOf(state) || this.#underWay[health] >= ROOM[health]) return undefined;
    state.underWay += 1;
    this.#underWay[health] += 1;
    return { endpoint: name, health, isSlow: false };
  }

  /** Moves a slow call into the room of failing endpoints. Its endpoint has the cap of a failing one until the call ends. */
  slow(slot: Slot): void {
    if (slot.isSlow) return;
    slot.isSlow = true;
    this.#underWay[slot.health] -= 1;
    slot.health = "failing";
    this.#underWay.failing += 1;
    this.#state(slot.endpoint, false).slow += 1;
  }

  /** Ends a call. Without `isSuccess` the call was not made, and the health of the endpoint stays the same. */
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

const healthOf = ({ health, slow }: State): HealthLevel => (slow > 0 ? "failing" : health);
const capOf = (state: State): number => (healthOf(state) === "failing" ? FAILING_CAP : state.cap);
/** How many deliveries are claimed for each call. */
const perCall = (health: HealthLevel): number => (health === "proven" ? 1 + AHEAD : 1);
const claimCap = (state: State): number => capOf(state) * perCall(healthOf(state));

// Deliveries to deleted and disabled endpoints need no call, only a statement.
const MOST_TO_DROP = 100;
// New deliveries come first, and retries still progress beside any number of them.
const RETRY_PART = 1 / 4;

/** Divides the room of each endpoint between its new deliveries and its retries. `roomOf` is undefined for an endpoint that cannot be called.
 *  `random` returns a number from 0 up to 1. */
export function planShares(
  taken: readonly TakenGroup<QueuedEndpoint>[],
  roomOf: (key: string) => number | undefined,
  random: () => number,
): Share<QueuedEndpoint>[] {
  const keysOf = (rank: number): Set<string> => new Set(taken.filter((each) => each.rank === rank).map(({ group }) => group.key));
  const [fresh, retries] = [keysOf(FRESH), keysOf(RETRY)];
  const roomsForRetries = new Map<string, number>();
  for (const key of retries) {
    const room = roomOf(key) ?? 0;
    // The rounding is random, so that neither new deliveries nor retries always take the last place.
    roomsForRetries.set(key, fresh.has(key) ? Math.floor(room * RETRY_PART + random()) : room);
  }
  return taken.map((each) => {
    const room = roomOf(each.group.key);
    const forRetries = roomsForRetries.get(each.group.key) ?? 0;
    const most = room === undefined ? MOST_TO_DROP : each.rank === RETRY ? forRetries : room - forRetries;
    return { ...each, most };
  });
}
