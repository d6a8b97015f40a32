import { parentPort } from 'node:worker_threads'
import { CustomsError } from '#relay/base/errors.js'
import { type ReaderAnswer, readLogs, type ReadingOrder } from './reading.js'

// The script of a reader thread: it reads the logs that it is told to, and answers with their totals.

const answer = (message: ReaderAnswer) => parentPort?.postMessage(message)

parentPort?.on('message', (order: ReadingOrder) => {
  try {
    answer({ part: readLogs(order, bytes => answer({ bytes })) })
  } catch (error) {
    if (!(error instanceof CustomsError)) throw error
    answer({ code: error.code, message: error.message })
  }
})
