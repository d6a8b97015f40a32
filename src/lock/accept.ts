import { isString, type Json } from '../protocol/json.js'
import { compare, type Catalogue } from './compare.js'

/** Nothing at all: what is locked of a server before anything of it was accepted. */
export const nothingAccepted: Catalogue = { identity: {}, instructions: undefined, tools: new Map(), prompts: new Map(), resourceTemplates: new Map() }

/**
 * What is locked when of all that changed only some tools are accepted: as they are listed now, or no longer.
 * @param names of tools; of one that was renamed, the old name or the new one
 */
export const acceptTools = (locked: Catalogue, listed: Catalogue, names: ReadonlySet<string>): Catalogue => {
  const tools = new Map(locked.tools)
  const take = (name: string, definition: Json | undefined) => (definition === undefined ? tools.delete(name) : tools.set(name, definition))
  for (const { of, name, ...change } of compare(locked, listed)) {
    if (of !== 'tool') continue
    const newName = change.class === 'renamed' && isString(change.after) ? change.after : name
    if (names.has(name) || names.has(newName)) for (const one of [name, newName]) take(one, listed.tools.get(one))
  }
  return { ...locked, tools }
}
