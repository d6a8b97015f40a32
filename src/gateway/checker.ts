import type { SchemaChecker, SchemaLimits } from '../core/check.js'

/**
 * The engine for schemas, loaded while the server starts: it is a quarter of the relay's code, and nothing needs it before
 * the first list or call. What is asked sooner waits for it.
 */
export const loadChecker = (limits: SchemaLimits): SchemaChecker => {
  let engine: SchemaChecker | undefined
  const loaded = new Promise<void>(resolve => void setImmediate(resolve)).then(async () => {
    const { createSchemaChecker } = await import('../schema/index.js')
    engine = createSchemaChecker(limits)
    return engine
  })
  return {
    check: (subject, session) => (engine ? engine.check(subject, session) : loaded.then(ready => ready.check(subject, session))),
    close: async () => (await loaded).close(),
  }
}
