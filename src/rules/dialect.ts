import { upgrade } from '../mend/upgrade.js'
import { isObject, isString, member, omit, type JsonObject } from '../protocol/json.js'
import { withMembers } from '../protocol/meter.js'
import { defaultDialect, dialectOf } from '../protocol/json-schema.js'
import { quote } from '../protocol/quote.js'
import type { Mend, Powers } from '../core/rule.js'

const keys = ['inputSchema', 'outputSchema'] as const

/** What the schema of a tool says it is written in; undefined of 2020-12, and of one that leaves it to the default, which is that. */
const otherDialect = (tool: JsonObject | undefined, key: string): string | undefined => {
  const schema = member(tool, key)
  const named = isObject(schema) ? member(schema, '$schema') : undefined
  return isString(named) && dialectOf(named) !== defaultDialect ? named : undefined
}

export const dialect: Powers = {
  onTool: ({ definition, path }) =>
    keys.flatMap(key => {
      const named = otherDialect(definition, key)
      return named === undefined ? [] : [{ path: `${path}/${key}/$schema`, message: `names the dialect ${quote(named)}, where many clients know 2020-12 alone` }]
    }),
}

/** What cannot be said in 2020-12 is kept from the client: it goes on being what arguments and results are checked by. */
export const upgraded: Mend = {
  onTool({ definition = {} }, meter) {
    let made = definition
    for (const key of keys) {
      const schema = member(definition, key)
      const named = otherDialect(definition, key)
      if (named === undefined || !isObject(schema)) continue
      // Of what it means nothing is known.
      if (dialectOf(named) === undefined) return undefined
      const said = upgrade(schema, meter)
      if (said !== undefined) made = withMembers(made, { [key]: said }, meter)
      else made = key === 'outputSchema' ? omit(made, key) : withMembers(made, { [key]: { type: 'object' } }, meter)
    }
    return made
  },
}
