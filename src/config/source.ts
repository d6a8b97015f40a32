import { dirname, resolve } from 'node:path'
import { CustomsError } from '../errors.js'
import type { JsonObject } from '../protocol/unmetered.js'
import type { Environment } from './environment.js'
import type { Limits } from './limits.js'
import { Problem, type Keys } from './problem.js'

/** Why a schema that an operator wrote cannot be used, in words; undefined: it can. */
export type JudgeSchema = (schema: JsonObject | boolean, limits: Limits) => Promise<string | undefined>

/** What stands around a setting: where it was written, and what it is read with. */
export interface Source {
  readonly file: string
  readonly environment: Environment
  readonly judgeSchema: JudgeSchema
}

/** A relative path is relative to the file that names it. */
export const pathFrom = ({ file }: Pick<Source, 'file'>, path: string): string => resolve(dirname(file), path)

/** What is wrong in a file that another one names is wrong at the key which names it. */
export const namedAt = <Read>(keys: Keys, reading: Promise<Read>): Promise<Read> =>
  reading.catch((cause: unknown) => {
    throw cause instanceof CustomsError ? new Problem(keys, cause.message, { cause }) : cause
  })
