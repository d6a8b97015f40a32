import { fail, type Keys } from './problem.js'

/** Where a server is reached: in the file, and on the command line. What is refused is not quoted: it may hold a password. */
export const readServerUrl = (text: string, keys: Keys): string => {
  if (!URL.canParse(text)) return fail(keys, 'must be a URL')
  const { protocol, username, password, hash } = new URL(text)
  if (protocol !== 'https:' && protocol !== 'http:') return fail(keys, 'must be an https or http URL')
  if (username !== '' || password !== '') return fail(keys, 'must not hold a user or password: send a header')
  return hash === '' ? text : fail(keys, 'must not have a fragment')
}
