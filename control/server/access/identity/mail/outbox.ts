/**
 * Mails are written down in the transaction of what they are about, and sent afterwards until a server has taken them: a host that
 * is killed in between sends one at its next start. A server that takes one and dies before it says so gets it twice.
 */
import type { Clock } from '../../../../../shared/clock.ts'
import type { Closing } from '../../../../../shared/closing.ts'
import { messageOf } from '../../../../../shared/errors.ts'
import type { Log } from '../../../../../shared/log.ts'
import type { Sealer } from '../../../../core/secrets/secrets.ts'
import type { Mail, Store } from '../../../../core/store/store.ts'
import type { MailText } from '../../../../core/access/mails.ts'

/** Hands a mail to a server. Rejects when it was not taken. */
export type Send = (mail: MailText & { readonly id: string }) => Promise<void>

const lookEveryMs = 1_000
const [firstDelayMs, longestDelayMs] = [5_000, 3_600_000]
/** At once, and in one look. */
const most = 20

interface Deps {
  readonly store: Pick<Store, 'identity'>
  readonly sealer: Sealer
  readonly clock: Clock
  readonly log: Log
  readonly send: Send
}

const sendOne = async ({ store, sealer, clock, log, send }: Deps, mail: Mail): Promise<void> => {
  const { id, sealed, attempts } = mail
  try {
    await send({ id, ...(JSON.parse(sealer.open(sealed)) as MailText) })
    await store.identity.removeMail(id)
    log.info('mail.sent', { id })
  } catch (error) {
    log.warn('mail.failed', { id, attempts: attempts + 1, reason: messageOf(error) })
    await store.identity.putOffMail(id, clock.now() + Math.min(firstDelayMs * 2 ** attempts, longestDelayMs))
  }
}

/** Sends what is due from now on, one look at a time. */
export const sendMails = (deps: Deps, closer: Closing): void => {
  const { store, clock, log } = deps
  let running: Promise<void> | undefined
  const look = async (): Promise<void> => {
    const next = await store.identity.nextMail()
    if (next === undefined || next > clock.now()) return
    for (const mail of await store.identity.dueMails(clock.now(), most)) await sendOne(deps, mail)
  }
  const stop = clock.every(lookEveryMs, () => {
    running ??= look()
      .catch((error: unknown) => log.error('mail.failed', { reason: messageOf(error), error }))
      .finally(() => (running = undefined))
  })
  closer.add('mails', async () => {
    stop()
    await running
  })
}
