import { createHash, randomBytes } from 'node:crypto'

/** The budget is used up: the verdict must be found where there is more of it, or there is none. */
export class Exhausted extends Error {
  /** @param pattern the one whose matching took so long, if it was that: one that overran once is given less time again */
  constructor(message?: string, readonly pattern?: { overran: boolean }) {
    super(message)
  }
}

/** A step takes at most about 10 ns, most take less. The number says how many a millisecond of validation is worth. */
export const stepsPerMs = 100_000

/** What each character of a value that is judged on the worker thread is worth beside that: its length alone costs no verdict. */
export const stepsPerCharacter = 5

/**
 * What the main thread does at once for one check, or to read one schema: 1 MB of ordinary rows passes, or 2,000 subschemas, and nobody else
 * waits longer than that. What needs more goes to the worker thread.
 */
export const mainThreadSteps = 1_000_000
export const mainThreadBytes = 1024 * 1024

/** A number up to here is kept out of the heap. */
const mostAtOnce = 2 ** 30

/**
 * What a stranger's schema or value may still cost. Whatever grows with what was sent is paid for in steps, mostly before it is done. Steps, not
 * time: a machine that is busy changes no verdict.
 */
export class Budget {
  /** What matching a text by a pattern came to, where it took long. */
  longest: { readonly pattern: object; readonly text: string; readonly matches: boolean } | undefined
  #left: number
  #more: number
  #kept = 0

  /** @param isLast whether there is nobody else who has more */
  constructor(steps: number, readonly isLast = false) {
    this.#left = Math.min(steps, mostAtOnce)
    this.#more = steps - this.#left
  }

  get left(): number {
    return this.#left + this.#more
  }

  /** Bytes of memory that are held for later, because of what was paid for: places of schemas, checks, automata. */
  get kept(): number {
    return this.#kept
  }

  keep(bytes: number): void {
    this.#kept += bytes
  }

  /**
   * @param steps a whole number
   * @throws Exhausted when there are fewer left
   */
  spend(steps: number): void {
    if ((this.#left -= steps) < 0) this.#refill()
  }

  /**
   * Work that may fail alone: where nobody else has more to spend, it is given most of what is left, and is undefined
   * when that does not suffice.
   */
  attempt<Result>(work: (budget: Budget) => Result): Result | undefined {
    if (!this.isLast) return work(this)
    const share = Math.floor((this.left / 8) * 7)
    const own = new Budget(share)
    try {
      return work(own)
    } catch (error) {
      if (error instanceof Exhausted || error instanceof RangeError) return undefined
      throw error
    } finally {
      this.keep(own.kept)
      this.spend(Math.min(share, share - own.left))
    }
  }

  #refill(): void {
    const left = this.left
    if (left < 0) throw new Exhausted()
    this.#left = Math.min(left, mostAtOnce)
    this.#more = left - this.#left
  }
}

/** V8 sorts the members of a large object to list them, and looks one up at ten times the cost. */
export const manyMembers = 200
export const costOfMany = 40

/** What it costs to list the members of an object, in steps. */
export const costOfMembers = (count: number): number => (count > manyMembers ? costOfMany : 4) * count

/** What it costs to hash or copy a name, in steps. */
export const costOfName = (text: string): number => 2 + (text.length >> 2)

/** V8 hashes texts over 16,383 characters by their length alone: in a Map, all of one length would collide. */
const maxKey = 1000

// Without the salt, a stranger could name the key of another text.
const salt = randomBytes(16)

/** The key for a text from the wire in a Map or Set. */
export const nameKey = (text: string): string =>
  text.length <= maxKey ? text : createHash('sha256').update(salt).update(text).digest('base64')

/** A queue in which askers take turns, so that nobody waits for all that another wants. */
export class FairQueue<Item> {
  /** In the order of their turns; none is empty. */
  readonly #queues = new Map<string, Item[]>()
  readonly #share: number

  /** @param share how many items of one asker may wait */
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

/** Steps in one turn of the event loop, about 5 ms, after which no other check is begun in it. */
const stepsPerTurn = 500_000
/** Fewer steps are not worth a callback at the end of the turn. */
const fewSteps = stepsPerTurn / 10

/** Spreads checks over turns of the event loop, so that together they do not hold it up. */
class Turns {
  readonly #waiting = new FairQueue<() => void>()
  #spent = 0
  #scheduled = false

  /** Whether this turn has steps left, and no check waits for them. */
  get isOpen(): boolean {
    return this.#spent < stepsPerTurn && this.#waiting.isEmpty
  }

  /** @param who asks for it; askers take turns */
  later<Result>(who: string, work: () => Result | Promise<Result>): Promise<Result> {
    return new Promise(resolve => this.#waiting.push(who, () => resolve(work())))
  }

  spend(steps: number): void {
    this.#spent += steps
    if (this.#spent > fewSteps) this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#spent = 0
      while (this.#spent < stepsPerTurn) {
        const next = this.#waiting.shift()
        if (next === undefined) return
        next()
      }
      this.#schedule()
    })
  }
}

/** All checkers of an event loop share its turns. */
export const turns = new Turns()
