import { other, type Attributes } from './attributes.js'

/** So many combinations of attributes are told apart of one server: a hundred tools, and ten ways in which each may end. */
const most = 1000

/** What names tools and errors is the server's, which could make more of them for ever: beyond the limit they are one. */
const unbounded = ['gen_ai.tool.name', 'error.type', 'rpc.response.status_code'] as const

/** Keeps the number of time series bounded that one server leads to. */
export class Series {
  readonly #most: number
  readonly #known = new Set<string>()

  constructor(atMost = most) {
    this.#most = atMost
  }

  /** The attributes themselves, or what stands for them. */
  bounded(attributes: Attributes): Attributes {
    const key = JSON.stringify(attributes)
    if (this.#known.has(key)) return attributes
    if (this.#known.size >= this.#most) {
      return { ...attributes, ...Object.fromEntries(unbounded.filter(name => name in attributes).map(name => [name, other])) }
    }
    this.#known.add(key)
    return attributes
  }
}
