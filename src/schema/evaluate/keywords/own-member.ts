import type { Json, JsonObject } from '../../../protocol/unmetered.js'

/** Reads a member from an object that was parsed from JSON, in the quickest way that there is. */
export type OwnMember = (object: JsonObject) => Json | undefined

/** Only the few names that every object inherits need the question whether the member is the object's own. */
export const ownMember = (name: string): OwnMember =>
  name in Object.prototype ? object => (Object.hasOwn(object, name) ? object[name] : undefined) : object => object[name]
