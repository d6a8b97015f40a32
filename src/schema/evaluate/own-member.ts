import type { Json, JsonObject } from '../../protocol/json.js'

/** A member's name with the quickest way to read it from an object that was parsed from JSON. */
export interface OwnMember {
  readonly name: string
  of(object: JsonObject): Json | undefined
}

/** Only the few names that every object inherits need the question whether the member is the object's own. */
export const ownMember = (name: string): OwnMember => ({
  name,
  of: name in Object.prototype ? object => (Object.hasOwn(object, name) ? object[name] : undefined) : object => object[name],
})
