import { existsSync, readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'

// The official schemas lie beside the repository; where they do not, there is nothing to compare with.
const spec = new URL('../../../../shared/spec/', import.meta.url)

export const skip = existsSync(spec) ? false : 'the official schemas are not here'

/** Why a value is not one of an official definition; undefined: it is one. */
type Judge = (definition: string, value: unknown) => string | undefined

export const officialOf = (revision: string): Judge => {
  const compiled = new Map<string, ValidateFunction>()
  const schema = JSON.parse(readFileSync(new URL(`${revision}/schema.json`, spec), 'utf8')) as object
  const definitions = '$defs' in schema ? '$defs' : 'definitions'
  const options = { strict: false, validateFormats: false }
  const ajv = definitions === '$defs' ? new Ajv2020(options) : new Ajv(options)
  ajv.addSchema(schema, 'mcp')
  return (definition, value) => {
    const check = compiled.get(definition) ?? ajv.compile({ $ref: `mcp#/${definitions}/${definition}` })
    compiled.set(definition, check)
    return check(value) ? undefined : `${definition}: ${ajv.errorsText(check.errors)}: ${JSON.stringify(value)}`
  }
}
