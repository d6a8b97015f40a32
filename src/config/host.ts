import { fail, type Keys } from './problem.js'

/** A host as clients name it in the `Host` header: in lower case, a name of other letters in its ASCII form. */
export const readHost = (text: string, keys: Keys): string =>
  URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : fail(keys, 'is no host')

/** An origin as browsers name it in the `Origin` header. */
export const readOrigin = (text: string, keys: Keys): string => {
  if (!URL.canParse(text)) return fail(keys, 'is no origin')
  // A scheme that the browser does not know has no origin for `URL`: a desktop application's, perhaps.
  const { origin } = new URL(text)
  return origin === 'null' ? text : origin
}
