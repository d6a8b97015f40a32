import type { Case } from '../cases.js'
import { callCases } from './call.js'
import { contentCases } from './content.js'
import { resultCases } from './result.js'
import { serverCases } from './server.js'
import { taskCases } from './task.js'
import { toolCases } from './tool.js'
import { wireCases } from './wire.js'

/** Every rule of the contract that concerns stdio, broken and kept. */
export const cases: readonly Case[] = [
  ...wireCases, ...toolCases, ...callCases, ...resultCases, ...contentCases, ...serverCases, ...taskCases,
]
