import { Budget, Exhausted, mainThreadSteps } from '#relay/schema/budget.js'
import { formatOf, type Format } from '#relay/schema/keywords/formats.js'

/** More distinct texts are no enumeration. */
const maxValues = 8
/** If a value occurred less often, other values may exist that did not occur. */
const often = 3
/** A text with digits or punctuation is more likely data than a word of a fixed vocabulary. */
const word = /^[\p{L}][\p{L} _-]{0,39}$/u

const formats =
  ['date-time', 'date', 'uuid', 'email', 'ipv4', 'uri'].map(name => [name, formatOf(name)] as const)

/** A text whose check exceeds the budget does not have the format. */
const fits = (format: Format, text: string): boolean => {
  try {
    return format.test(text, new Budget(mainThreadSteps))
  } catch (error) {
    if (error instanceof Exhausted) return false
    throw error
  }
}

/** The common properties of the texts at one place. */
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
    if (this.#values.size <= maxValues) this.#values.set(text, (this.#values.get(text) ?? 0) + 1)
  }

  /** Merges the texts of another place into these. */
  add(other: Texts): void {
    this.count += other.count
    this.shortest = Math.min(this.shortest, other.shortest)
    this.longest = Math.max(this.longest, other.longest)
    if (other.count > 0) this.#formats = this.#formats.filter(one => other.#formats.includes(one))
    for (const [value, count] of other.#values) this.#values.set(
      value, (this.#values.get(value) ?? 0) + count,
    )
  }

  /** The format of all these texts. */
  get format(): string | undefined {
    return this.#formats[0]?.[0]
  }

  /** The values, if they are few words that each occurred often. @param enough fewest texts to judge by */
  vocabulary(enough: number): readonly string[] | undefined {
    const values = [...this.#values]
    const isFew = this.count >= enough && values.length <= maxValues && values.length * often <= this.count
    if (!isFew || !values.every(([value, count]) => count >= often && word.test(value))) return undefined
    return values.map(([value]) => value).sort()
  }
}
