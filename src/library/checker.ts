import type { Limits } from '../config/limits.js'
import type { SchemaChecker } from '../core/check.js'
import type { Frame } from '../protocol/frame.js'
import { parseFrame as parse } from '../protocol/parse.js'
import { createSchemaChecker as create } from '../schema/index.js'
import { readLimits } from './options.js'

/**
 * Performs the relay's `check` effects: untrusted schemas, used safely. Never throws and never rejects. To be closed.
 * @throws CustomsError BAD_CONFIG for a limit that is none
 */
export const createSchemaChecker = (limits: Partial<Limits> = {}): SchemaChecker => create(readLimits(limits))

/**
 * Reads the bytes of one message, without its line end, for the relay's `frame-received`. Never throws for what is in the bytes:
 * what is wrong with them is in the frame's `faults`.
 * @throws CustomsError BAD_CONFIG for a limit that is none
 */
export const parseFrame = (bytes: Buffer, limits: Partial<Limits> = {}): Frame => parse(bytes, readLimits(limits))
