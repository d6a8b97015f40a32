/** Longest text from the wire in a message of ours, in characters (contract section 4). */
const longest = 80

/**
 * Text from the wire as it may stand in the path or the message of a fault: letters, digits, punctuation and symbols
 * only, and cut. What is shown of a text may be less than what it is.
 */
export const visible = (text: string): string => {
  const shown = text.slice(0, 4 * longest).replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '')
  // The cut may not leave half a surrogate pair behind.
  return shown.length <= longest ? shown : `${shown.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** As `visible`, JSON-quoted. */
export const quoted = (text: string): string => JSON.stringify(visible(text))
