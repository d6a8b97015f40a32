/** What waits, by who asked for it: they take turns, so that nobody waits for all that another wants. */
export class FairQueue<Item> {
  /** In the order of their turns; none is empty. */
  readonly #queues = new Map<string, Item[]>()
  readonly #share: number

  /** @param share the most of one that may wait */
  constructor(share = Infinity) {
    this.#share = share
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0
  }

  /** @returns false when there is no room for it */
  push(who: string, item: Item): boolean {
    const queue = this.#queues.get(who)
    if (queue === undefined) this.#queues.set(who, [item])
    else if (queue.length < this.#share) queue.push(item)
    else return false
    return true
  }

  shift(): Item | undefined {
    for (const [who, queue] of this.#queues) {
      const item = queue.shift()
      this.#queues.delete(who)
      if (queue.length > 0) this.#queues.set(who, queue)
      return item
    }
    return undefined
  }
}
