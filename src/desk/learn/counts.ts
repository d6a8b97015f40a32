import { promotionOf } from '#relay/core/tool-results.js'
import { isRecord, field, type DataObject } from '#relay/protocol/unmetered.js'
import { Meter } from '#relay/protocol/json.js'
import { quote } from '#relay/protocol/quote.js'
import { fewest } from './tool.js'

interface Count {
  declares: boolean
  errors: number
  structured: number
  fromText: number
  prose: number
}

/** Further tools are not counted. */
const maxTools = 5000

/** Counts the kinds of results of each tool in a session; the results themselves are not kept. */
export class LearntCounts {
  readonly #tools = new Map<string, Count>()

  declared(tool: string, hasOutputSchema: boolean): void {
    const count = this.#of(tool)
    if (count) count.declares = hasOutputSchema
  }

  answered(tool: string, result: DataObject): void {
    const count = this.#of(tool)
    if (!count) return
    if (field(result, 'isError') === true) count.errors++
    else if (isRecord(field(result, 'structuredContent'))) count.structured++
    else if (promotionOf(result, new Meter()) !== undefined) count.fromText++
    else count.prose++
  }

  /**
   * A line for each tool without an outputSchema that `learn` could propose one for, the most called first.
   */
  report(): readonly string[] {
    return [...this.#tools]
      .map(([tool, count]) => ({ tool, count, calls: count.structured + count.fromText + count.prose }))
      .filter(({ count, calls }) => !count.declares && calls > 0)
      .sort((a, b) => b.calls - a.calls)
      .map(({ tool, count, calls }) => {
        const errors = count.errors > 0 ? `, ${count.errors} errors aside` : ''
        return `${quote(tool)}: ${calls} result${calls === 1 ? '' : 's'}${errors}: ${proposed(count, calls)}`
      })
  }

  #of(tool: string): Count | undefined {
    const known = this.#tools.get(tool)
    if (known !== undefined || this.#tools.size >= maxTools) return known
    const count = { declares: false, errors: 0, structured: 0, fromText: 0, prose: 0 }
    this.#tools.set(tool, count)
    return count
  }
}

const proposed = ({ structured, fromText }: Count, calls: number): string => {
  if (calls < fewest) return 'too few to say'
  if (structured === calls) return 'an outputSchema, from structuredContent'
  return fromText === calls ? 'an outputSchema, with structured: from-text' : 'a resultSchema'
}
