import { hash } from 'node:crypto'
import { promotionOf } from '#relay/core/tool-results.js'
import { isList, isRecord, field, type DataObject } from '#relay/protocol/unmetered.js'
import { Meter } from '#relay/protocol/json.js'
import { Blocks } from './blocks.js'
import { enough, membersIn, schemaOf, type Strictness } from './schema.js'
import { ValueShape } from './shape.js'

/** A contract from fewer calls is marked, and a violation is only logged. */
export const fewest = 5

/**
 * structured: all results have structuredContent. from-text: all have JSON in their one text block. prose:
 * some result has neither.
 */
export type SchemaSource = 'structured' | 'from-text' | 'prose'

/** few: under five calls. fair: under twenty, or something new in the second half of them. good: neither. */
type Sureness = 'few' | 'fair' | 'good'

/** The schemas that are proposed for a tool's results. */
export interface Contract {
  readonly source: SchemaSource
  readonly sureness: Sureness
  /** Results that are no errors. */
  readonly calls: number
  readonly errors: number
  readonly members: number
  /** For `structuredContent`; undefined without any, or when too few results were seen to block by it. */
  readonly outputSchema: DataObject | undefined
  /** For the whole result: its blocks and sizes, and structured content that has no schema of its own. */
  readonly resultSchema: DataObject
}

/** Learns a contract from the results of one tool. */
export class LearntTool {
  #calls = 0
  #errors = 0
  #structured = 0
  #fromText = 0
  /** The values of `structuredContent`, or the JSON in the texts. */
  readonly #values = new ValueShape()
  readonly #blocks = new Blocks()

  see(result: DataObject): void {
    // The texts of errors have no common shape.
    if (field(result, 'isError') === true) {
      this.#errors++
      return
    }
    this.#calls++
    const content = field(result, 'content')
    if (isList(content)) this.#blocks.see(content)
    const structured = field(result, 'structuredContent')
    const value = structured ?? promotionOf(result, new Meter())?.value
    if (isRecord(structured)) this.#structured++
    else if (isRecord(value)) this.#fromText++
    if (isRecord(value)) this.#values.see(value)
  }

  /** Undefined when every result was an error. */
  contract(strictness: Strictness): Contract | undefined {
    if (this.#calls === 0) return undefined
    const others = this.#fromText === this.#calls ? 'from-text' : 'prose'
    const source = this.#structured === this.#calls ? 'structured' : others
    const seen =
      { source, calls: this.#calls, errors: this.#errors, sureness: this.#sureness(source) } as const
    const resultSchema = this.#resultSchema(strictness, {})
    if (source === 'prose') return { ...seen, members: 0, outputSchema: undefined, resultSchema }
    const schema = schemaOf(this.#values, strictness)
    const members = membersIn(this.#values)
    if (this.#calls >= fewest) return { ...seen, members, outputSchema: schema, resultSchema }
    const structured = source === 'structured' ? { structuredContent: schema } : {}
    const wholeSchema = this.#resultSchema(strictness, structured)
    return { ...seen, members, outputSchema: undefined, resultSchema: wholeSchema }
  }

  #sureness(source: SchemaSource): Sureness {
    if (this.#calls < fewest) return 'few'
    const isSettled = source === 'prose' || this.#values.newest * 2 <= this.#values.objects
    return this.#calls >= enough && isSettled ? 'good' : 'fair'
  }

  #resultSchema(strictness: Strictness, more: DataObject): DataObject {
    const isError = { properties: { isError: { const: true } }, required: ['isError'] }
    const properties = { content: this.#blocks.schema(strictness), ...more }
    return { type: 'object', if: isError, else: { properties, required: Object.keys(properties) } }
  }
}

/** A file that a person reviews and may change. */
interface ProposedFile {
  /** Relative to the folder that the user chose. */
  readonly path: string
  readonly schema: DataObject
}

/** The schema files of one tool, and its setting in the configuration. */
export const propose = (
  server: string, tool: string, contract: Contract,
): { readonly files: readonly ProposedFile[]; readonly setting: DataObject } => {
  const { outputSchema, resultSchema, source } = contract
  const file = (name: string, schema: DataObject): ProposedFile => ({
    path: `${fileName(server)}/${fileName(tool)}.${name}.schema.json`,
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema', title: tool, $comment: commentFor(contract),
      ...schema,
    },
  })
  const [output, result] = [outputSchema && file('output', outputSchema), file('result', resultSchema)]
  return {
    files: output === undefined ? [result] : [output, result],
    setting: {
      ...(output && {
        outputSchema: `./${output.path}`, ...(source === 'from-text' && { structured: 'from-text' }),
      }),
      resultSchema: `./${result.path}`,
    },
  }
}

const commentFor = ({ calls, errors, members, sureness, source }: Contract): string => {
  const from = source === 'from-text' ? ', from the JSON in the text' : ''
  return [
    `Learnt from ${calls} results${errors > 0 ? ` (${errors} errors aside)` : ''}`,
    source === 'prose' ? 'prose: the blocks and their sizes' : `${members} members${from}`,
    surenessInWords[sureness],
  ].join('; ')
}

const surenessInWords: Readonly<Record<Sureness, string>> = {
  few: 'FEW: fewer than five calls, so that what breaks it is only logged',
  fair: 'fair: few calls, or still something new in their second half',
  good: 'good: nothing new in the second half of them',
}

/** A unique name, also in file systems that ignore case: a dot occurs only before a digest. */
const fileName = (name: string): string => {
  if (/^[a-z0-9_-]{1,80}$/.test(name)) return name
  return `${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 80)}.${hash('sha256', name).slice(0, 24)}`
}
