import type { Limits } from '../config/limits.js'
import type { JsonObject } from '../protocol/unmetered.js'

/** Why a schema that the operator wrote cannot be used: what would be found of a server's. The engine is loaded where there is one. */
export const judgeSchema = async (schema: JsonObject | boolean, limits: Limits): Promise<string | undefined> => {
  const { createSchemaChecker } = await import('../schema/index.js')
  const checker = createSchemaChecker(limits)
  try {
    const [problem] = await checker.check({ kind: 'schema', schema, path: '' })
    return problem && `${problem.path === '' ? '' : `${problem.path}: `}${problem.message}`
  } finally {
    await checker.close()
  }
}
