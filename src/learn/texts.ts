import { Budget, Exhausted, mainThreadSteps } from '../schema/budget.js'
import { formatOf, type Format } from '../schema/keywords/formats.js'

/** More distinct texts than these are no enumeration. */
const mostValues = 8
/** A value that was seen more seldom may have others beside it that were not seen at all. */
const often = 3
/** A text with digits or marks in it is more likely data than a word of a fixed vocabulary. */
const word = /^[\p{L}][\p{L} _-]{0,39}$/u

const formats = ['date-time', 'date', 'uuid', 'email', 'ipv4', 'uri'].map(name => [name, formatOf(name)] as const)

/** A text that takes that long to read has no format. */
const fits = (format: Format, text: string): boolean => {
  try {
    return format.test(text, new Budget(mainThreadSteps))
  } catch (error) {
    if (error instanceof Exhausted) return false
    throw error
  }
}

/** What texts in one place have in common. */
export class Texts {
  count = 0
  shortest = Infinity
  longest = 0
  readonly #values = new Map<string, number>()
  #formats = formats

  see(text: string): void {
    this.count++
    this.shortest = Math.min(this.shortest, text.length)
    this.longest = Math.max(this.longest, text.length)
    this.#formats = this.#formats.filter(([, format]) => format !== undefined && fits(format, text))
    if (this.#values.size <= mostValues) this.#values.set(text, (this.#values.get(text) ?? 0) + 1)
  }

  /** Takes in what was seen in another place. */
  add(other: Texts): void {
    this.count += other.count
    this.shortest = Math.min(this.shortest, other.shortest)
    this.longest = Math.max(this.longest, other.longest)
    if (other.count > 0) this.#formats = this.#formats.filter(one => other.#formats.includes(one))
    for (const [value, count] of other.#values) this.#values.set(value, (this.#values.get(value) ?? 0) + count)
  }

  /** The format that all of them fit. */
  get format(): string | undefined {
    return this.#formats[0]?.[0]
  }

  /** The few values of a vocabulary, where each was seen often. @param enough so many texts say something */
  vocabulary(enough: number): readonly string[] | undefined {
    const values = [...this.#values]
    const isFew = this.count >= enough && values.length <= mostValues && values.length * often <= this.count
    return isFew && values.every(([value, count]) => count >= often && word.test(value)) ? values.map(([value]) => value).sort() : undefined
  }
}
