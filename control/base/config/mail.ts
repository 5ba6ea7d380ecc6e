/** The server that takes mail. */
import { s } from '../../../shared/schema.ts'
import { refuse, textOf, type Environment } from './values.ts'

export interface MailConfig {
  /** '' for no mail. */
  readonly host: string
  readonly port: number
  /** TLS from the first byte. */
  readonly secure: boolean
  /** '' for a server that asks nobody. */
  readonly user: string
  readonly passwordFile: string
  readonly from: string
}

/** The same from a program. */
export const mailShape = s.strictObject({
  host: s.string(),
  port: s.int().check(s.minimum(1), s.maximum(65_535)),
  secure: s.boolean(),
  user: s.string(),
  passwordFile: s.string(),
  from: s.string(),
})

const none: MailConfig = { host: '', port: 587, secure: false, user: '', passwordFile: '', from: '' }

/** As it stands in a URL; undefined for what no text was made into. */
const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const serverFrom = (text: string): Pick<MailConfig, 'host' | 'port' | 'secure' | 'user'> => {
  const name = 'HUTCH_SMTP_URL'
  const url = URL.parse(text)
  if (!url || !/^smtps?:$/.test(url.protocol) || !url.hostname)
    throw refuse(name, `"${text}" must be like smtp://user@mail.example.com:587 or smtps://…`)
  if (url.password) throw refuse(name, 'must not have the password in it: put it into a file, HUTCH_SMTP_PASSWORD_FILE')
  const user = decoded(url.username)
  if (user === undefined) throw refuse(name, 'has a user with a % that encodes nothing')
  if (url.port === '0') throw refuse(name, 'must not name port 0')
  if (url.search || url.hash || !['', '/'].includes(url.pathname)) throw refuse(name, 'must end after the port')
  const secure = url.protocol === 'smtps:'
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (secure ? 465 : 587),
    secure,
    user,
  }
}

/** `path` makes a name of a file absolute. */
export const mailFrom = (env: Environment, path: (name: string) => string): MailConfig => {
  const text = textOf(env, 'HUTCH_SMTP_URL')
  for (const name of ['HUTCH_SMTP_FROM', 'HUTCH_SMTP_PASSWORD_FILE'])
    if (!text && textOf(env, name)) throw refuse(name, 'means nothing without HUTCH_SMTP_URL')
  if (!text) return none
  const server = serverFrom(text)
  const from = textOf(env, 'HUTCH_SMTP_FROM')
  if (!/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/.test(from))
    throw refuse('HUTCH_SMTP_FROM', `"${from}" must be an address, like Hutch <hutch@example.com>`)
  const passwordFile = textOf(env, 'HUTCH_SMTP_PASSWORD_FILE') && path('HUTCH_SMTP_PASSWORD_FILE')
  if (passwordFile && !server.user) throw refuse('HUTCH_SMTP_URL', 'names no user for HUTCH_SMTP_PASSWORD_FILE')
  if (server.user && !passwordFile)
    throw refuse('HUTCH_SMTP_PASSWORD_FILE', `is needed for the user ${server.user} of HUTCH_SMTP_URL`)
  return { ...server, passwordFile, from }
}
