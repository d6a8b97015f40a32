import { isArray, isObject, isString, mapped, member, type Json, type JsonObject, type Meter } from '#protocol/json.js'
import { targetOf } from '#protocol/json-schema.js'
import { wirePath } from '#protocol/quote.js'
import { requiredOf } from './merge.js'

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
    const target = isString(reference) ? targetOf(root, reference) : schema
    const own = isObject(target) ? target : {}
    let isChanged = false
    const kept = (one: Json, step: string | number, part: Json | undefined) => {
      const made = without(one, part, [...path, step], isAll)
      isChanged ||= made !== one
      return made
    }
    if (isArray(value)) {
      const made = mapped(value, meter, (one, index) => kept(one, index, member(own, 'items')))
      return isChanged ? made : value
    }
    if (!isObject(value)) return value
    const [required, properties] = [requiredOf(own, meter), member(own, 'properties')]
    const made = mapped(value, meter, (one, name) => {
      const isLeftOut = one === null &&
        (isAll ? !required.includes(name) : refused.has(wirePath('params', 'arguments', ...path, name)))
      isChanged ||= isLeftOut
      return isLeftOut ? undefined : kept(one, name, isObject(properties) ? member(properties, name) : undefined)
    })
    return isChanged ? made : value
  }
  return [without(given, root, [], false), without(given, root, [], true)]
    .filter(isObject).filter(one => one !== given)
}
