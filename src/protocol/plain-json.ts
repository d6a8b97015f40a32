/**
 * JSON that says exactly what the value is, and does nothing to the terminal that it is printed on: characters that are not
 * seen are escaped.
 */
export const plainJson = (value: unknown): string =>
  JSON.stringify(value, undefined, 2).replace(special, character => (unseen.test(character) ? escaped(character) : character))

// To look for these first is ten times as fast as to look every letter up.
const special = /[^\n -~]/gu
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u

const escaped = (character: string): string =>
  [...Array(character.length).keys()].map(index => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')
