/** The recipients that a file has named so far, in eight bytes each: a million texts would take a hundred megabytes. */

// At most half of the places are in use, so that a search is short.
const FIRST_PLACES = 1_024;
const USER_IDS_FROM = 2 ** 52;
const HALF = 2 ** 32;

export class KnownRecipients {
  #places = new Float64Array(FIRST_PLACES);
  #size = 0;

  /** Returns false if the recipient was added before. */
  add(recipient: string): boolean {
    if (this.#size * 2 >= this.#places.length) this.#grow();
    if (!insert(this.#places, keyOfGroup(recipient))) return false;
    this.#size += 1;
    return true;
  }

  #grow(): void {
    const before = this.#places;
    this.#places = new Float64Array(before.length * 2);
    for (const key of before) if (key !== 0) insert(this.#places, key);
  }
}

/** A number has at most fifteen digits, which a double holds exactly. Two user ids of WhatsApp have the same hash once in 2^52 pairs. */
const keyOfGroup = (recipient: string): number =>
  recipient.startsWith("+") ? Number(recipient.slice(1)) : USER_IDS_FROM + hashOf(recipient);

/** A hash of 52 bits: two FNV-1a hashes with different starts. */
function hashOf(text: string): number {
  let [low, high] = [0x811c9dc5, 0x9747b28c];
  for (let at = 0; at < text.length; at += 1) {
    low = Math.imul(low ^ text.charCodeAt(at), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(at), 0x01000193);
  }
  return (low >>> 0) + ((high >>> 0) % 2 ** 20) * HALF;
}

function insert(places: Float64Array, key: number): boolean {
  const mask = places.length - 1;
  let mixed = Math.imul((key % HALF) ^ Math.imul(Math.floor(key / HALF), 0x9e3779b1), 0x85ebca6b);
  mixed ^= mixed >>> 15;
  for (let at = mixed & mask; ; at = (at + 1) & mask) {
    if (places[at] === key) return false;
    if (places[at] !== 0) continue;
    // oxlint-disable-next-line eslint/no-param-reassign -- the table is what is changed
    places[at] = key;
    return true;
  }
}
