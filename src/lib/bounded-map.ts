/** A map with a limit. A new key removes the oldest one of a full map. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number;
  /** Stands behind the last removed key. A new iterator passes every entry that was removed since the map last compacted itself: one for each
   *  removal takes twenty times as long in a map of 8,192 keys. */
  #oldest: MapIterator<K> | undefined;
  #writes = 0;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  /** A known key keeps its age. */
  override set(key: K, value: V): this {
    if (this.size >= this.#limit && !this.has(key)) this.#removeOldest();
    this.#writes += 1;
    // An iterator that stands still keeps former tables of the map in memory.
    if (this.#writes > this.#limit || this.size < this.#limit / 2) {
      this.#writes = 0;
      this.#oldest = undefined;
    }
    return super.set(key, value);
  }

  /** Makes the key the newest one, also if it is known. */
  renew(key: K, value: V): void {
    this.delete(key);
    this.set(key, value);
  }

  #removeOldest(): void {
    this.#oldest ??= this.keys();
    const { done, value } = this.#oldest.next();
    if (done !== true) this.delete(value);
  }
}
