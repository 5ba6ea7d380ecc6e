/**
 * Command lines without what looks like a credential: programs are given them as arguments all the time, and events are read by more
 * people than that. By the looks of it alone, so some stay, and some words that are none go.
 */

const hidden = '***'

/** Words that name a credential: what follows them is one. Bounded, so that no line takes long. */
const naming =
  '[\\w.-]{0,40}(?:passw(?:or)?d|passphrase|passwort|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|account[_-]?key|auth[_-]?key|credentials?|signature|session[_-]?id|bearer)[\\w.-]{0,40}'

/** What such a word is given, up to where a word ends in some notation or other. */
const assigned = new RegExp(`(?<![\\w.-])(${naming}["']?\\s{0,8}[:=]\\s{0,8}["']?)[^\\s"'&;,})\\]]+`, 'gi')
/** A header's value goes on to the end of what it stands in. */
const header =
  /(?:\b|(?<=-H))((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{0,40}(?:auth|key|token|secret)[\w-]{0,40})(["']?\s{0,8}:\s{0,8})[^\n"']+/gi
const scheme = /\b(bearer|basic|digest|negotiate)(\s{1,8})[\w.~+/=-]{6,}/gi
/** `user:password@` before a host. */
const userInfo = /([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@"']{1,400}@/gi
/** Credentials that services let begin in a way of their own, so that they are found. */
const issued = new RegExp(
  [
    '(?:sk|pk|rk)[_-](?:live|test|proj|ant|or)?[\\w-]{12,}',
    'gh[opsur]_\\w{16,}',
    'github_pat_\\w{16,}',
    'gl[a-z]{2,5}-[\\w-]{16,}',
    'xox[a-z]-[\\w-]{8,}',
    'xapp-[\\w-]{8,}',
    '(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}',
    'AIza[\\w-]{30,}',
    'ya29\\.[\\w.-]{16,}',
    '(?:npm|hf|dop|doo|shpat|shpss|whsec|pat|key|lin|api)_[\\w-]{16,}',
    'pypi-[\\w-]{16,}',
    'SG\\.[\\w-]{10,}\\.[\\w-]{10,}',
    'eyJ[\\w-]{8,}(?:\\.[\\w-]{4,}){1,4}',
  ]
    .map(one => `(?<![A-Za-z0-9_-])${one}`)
    .join('|'),
  'g',
)
const keyFile = /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g

/** Bits of a character, by how often each is there (Shannon). */
const entropyOf = (text: string): number => {
  const counts = new Map<string, number>()
  for (const one of text) counts.set(one, (counts.get(one) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

/** Neither a word nor a number: letters of both cases and digits without a pattern, or long hexadecimal. */
const looksRandom = (text: string): boolean => {
  if (/^[0-9a-f]{32,}$/i.test(text)) return entropyOf(text) > 3
  return text.length >= 20 && /[0-9]/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text) && entropyOf(text) > 3.5
}

const maskText = (text: string): string =>
  text
    .replaceAll(keyFile, hidden)
    .replaceAll(userInfo, `$1${hidden}@`)
    .replaceAll(header, `$1$2${hidden}`)
    .replaceAll(scheme, `$1$2${hidden}`)
    .replaceAll(assigned, `$1${hidden}`)
    .replaceAll(issued, hidden)
    .replaceAll(/[A-Za-z0-9+_=]{20,}/g, word => (looksRandom(word) ? hidden : word))

const named = new RegExp(`^-{1,2}${naming}$`, 'i')
/** Options whose value is a user and a password. */
const pair = /^(?:-u|-U|--user|--proxy-user)$/
/** Programs that take one after `-p`, `-a` or `-w`, with a blank or without. */
const takers = /(?:^|\/)(?:mysql\w*|mariadb\w*|mongosh?|sshpass|redis-cli|ldap\w+)$/

const maskWord = (word: string, before: string, program: string): string => {
  if (named.test(before)) return hidden
  if (pair.test(before) && word.includes(':')) return `${word.slice(0, word.indexOf(':'))}:${hidden}`
  if (takers.test(program) && /^-[paw]$/.test(before)) return hidden
  if (takers.test(program) && /^-[paw]./.test(word)) return `${word.slice(0, 2)}${hidden}`
  return maskText(word)
}

/** The line that these arguments make, without what looks like a credential in them. */
export const maskCommand = (words: readonly string[]): string =>
  words.map((word, at) => maskWord(word, words[at - 1] ?? '', words[0] ?? '')).join(' ')
