/** Mail by SMTP: the operator's server, over TLS unless it is on this machine. */
import type { MailText } from '../../../../core/access/mails.ts'
import type { Send } from './outbox.ts'

export interface SmtpConfig {
  readonly host: string
  readonly port: number
  /** TLS from the first byte; otherwise STARTTLS, without which nothing is sent but to this machine. */
  readonly secure: boolean
  /** '' for a server that asks nobody. */
  readonly user: string
  readonly password: string
  /** `Hutch <hutch@example.com>`. */
  readonly from: string
}

const longestMs = 20_000

const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)

/** One connection a mail: there are few. The package is loaded with the first. */
export const smtpSend = ({ host, port, secure, user, password, from }: SmtpConfig): Send => {
  return async ({ id, to, subject, text }: MailText & { id: string }) => {
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({
      host,
      port,
      secure,
      requireTLS: !secure && !isLoopback(host),
      // What may go in plain text may go over a TLS that nobody vouches for, too: servers of a distribution come with one.
      ...(!secure && isLoopback(host) ? { tls: { rejectUnauthorized: false } } : {}),
      ...(user ? { auth: { user, pass: password } } : {}),
      connectionTimeout: longestMs,
      greetingTimeout: longestMs,
      socketTimeout: longestMs,
      // What a mail is made of is text alone.
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    try {
      // Sent twice after a crash, it is the same mail.
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text, messageId: `<${id}@hutch>` })
    } finally {
      transport.close()
    }
  }
}
