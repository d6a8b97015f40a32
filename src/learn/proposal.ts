import { hash } from 'node:crypto'
import type { JsonObject } from '../protocol/unmetered.js'
import type { Contract } from './tool.js'

/** A file for a person to review and change. */
export interface ProposedFile {
  /** Below the folder that was asked for. */
  readonly path: string
  readonly schema: JsonObject
}

/** The schema files of one tool, and what the configuration says of it. */
export const propose = (server: string, tool: string, contract: Contract): { readonly files: readonly ProposedFile[]; readonly setting: JsonObject } => {
  const { outputSchema, resultSchema, source } = contract
  const file = (name: string, schema: JsonObject): ProposedFile => ({
    path: `${fileName(server)}/${fileName(tool)}.${name}.schema.json`,
    schema: { $schema: 'https://json-schema.org/draft/2020-12/schema', title: tool, $comment: saidOf(contract), ...schema },
  })
  const [output, result] = [outputSchema && file('output', outputSchema), file('result', resultSchema)]
  return {
    files: output === undefined ? [result] : [output, result],
    setting: {
      ...(output && { outputSchema: `./${output.path}`, ...(source === 'from-text' && { structured: 'from-text' }) }),
      resultSchema: `./${result.path}`,
    },
  }
}

const saidOf = ({ calls, errors, members, sureness, source }: Contract): string =>
  [
    `Learnt from ${calls} results${errors > 0 ? ` (${errors} errors aside)` : ''}`,
    source === 'prose' ? 'prose: the blocks and their sizes' : `${members} members${source === 'from-text' ? ', from the JSON in the text' : ''}`,
    sureness === 'few' ? 'FEW: fewer than five calls, so that what breaks it is only logged' : sureness === 'fair' ? 'fair: few calls, or still something new in their second half' : 'good: nothing new in the second half of them',
  ].join('; ')

/** A name that no other name has, also where files are told apart without case; a point stands only before a digest. */
const fileName = (name: string): string => {
  if (/^[a-z0-9_-]{1,80}$/.test(name)) return name
  return `${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 80)}.${hash('sha256', name).slice(0, 24)}`
}
