import {
  isArray, isObject, isString, mapped, member, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { referenceTarget } from '#relay/protocol/json-schema.js'
import { wirePath } from '#relay/protocol/quote.js'
import { propertiesOf, requiredOf } from './merge.js'

/**
 * The arguments without nulls that may stand for arguments which the model left out: a strict profile shows
 * every argument as required, and the optional ones as nullable. The first result lacks the nulls that the
 * declared schema refuses, the second all nulls of members that it does not require. Which one was meant is
 * decided by the schema.
 * @param refused the paths of the nulls that the declared schema refuses
 * @returns those that differ from the arguments
 */
export const withoutNulls = (
  given: JsonObject, root: JsonObject, refused: ReadonlySet<string>, meter: Meter,
): readonly JsonObject[] => {
  const without = (
    value: Json, schema: Json | undefined, path: readonly (string | number)[], isAll: boolean,
  ): Json => {
    const reference = isObject(schema) ? member(schema, '$ref') : undefined
    const target = isString(reference) ? referenceTarget(root, reference) : schema
    const own = isObject(target) ? target : {}
    let changes = 0
    // Undefined: a null that is left out.
    const kept = (before: Json, after: Json | undefined) => {
      if (before !== after) changes++
      return after
    }
    if (isArray(value)) {
      const made = mapped(value, meter, (one, index) =>
        kept(one, without(one, member(own, 'items'), [...path, index], isAll)))
      return changes === 0 ? value : made
    }
    if (!isObject(value)) return value
    const [required, properties] = [requiredOf(own, meter), propertiesOf(own)]
    const made = mapped(value, meter, (one, name) => {
      const at = [...path, name]
      const isLeftOut = one === null
        && (isAll ? !required.includes(name) : refused.has(wirePath('params', 'arguments', ...at)))
      return kept(one, isLeftOut ? undefined : without(one, member(properties, name), at, isAll))
    })
    return changes === 0 ? value : made
  }
  return [without(given, root, [], false), without(given, root, [], true)]
    .filter(isObject).filter(one => one !== given)
}
