/** Who may call this host. */
import type { Closing } from '../../shared/closing.ts'
import { wireNames as spellings } from '../../shared/wire-names.ts'
import type { KeyUses } from '../core/access/key-uses.ts'
import { createKeys } from '../core/access/keys.ts'
import { remoteBehind } from '../core/access/remote.ts'
import { createStanding } from '../core/access/standing.ts'
import { personalKeys } from '../core/access/personal-keys.ts'
import { createDenials } from '../server/access/audit/denials.ts'
import type { Config } from '../base/config.ts'
import { createIdentity } from '../server/access/identity/identity.ts'
import type { Tokens } from '../server/access/identity/tokens.ts'
import { sendMails } from '../server/access/identity/mail/outbox.ts'
import { smtpSend } from '../server/access/identity/mail/smtp.ts'
import { userKindName } from '../core/kinds/user.ts'
import type { Parts } from './parts.ts'
import type { Transition } from '../core/transitions/transition.ts'
import { secretIn } from '../base/secret-file.ts'
import { machineCredentials, type MachineCredentials } from '../core/workloads/credentials.ts'

const providerOf = async ({ signIn }: Config) =>
  signIn.issuer === ''
    ? undefined
    : { ...signIn, clientSecret: await secretIn(signIn.secretFile, 'HUTCH_OIDC_SECRET_FILE') }

/** Access tokens, and keys of machines. */
const eitherOf = (tokens: Tokens, { isKey, verifyKey }: MachineCredentials): Tokens => ({
  isOne: credential => isKey(credential) || tokens.isOne(credential),
  verify: credential => (isKey(credential) ? verifyKey(credential) : tokens.verify(credential)),
})

/** Who may call, and how that is given out. */
export const callersOf = async (
  config: Config,
  parts: Parts,
  later: {
    readonly publicUrl: () => string
    readonly transition: () => Pick<Transition, 'write'>
    readonly uses: KeyUses
  },
  closer: Closing,
) => {
  const { clock, ids, log } = parts
  const machines = machineCredentials(parts.secret, parts.store)
  const { tenants } = machines
  const store = { ...parts.store, tenants }
  const { audit } = store
  const { uses } = later
  const denials = createDenials({ audit, account: parts.first.account, clock, log }, closer)
  const identity = createIdentity({
    ...parts,
    store,
    machineSecret: machines.secretHash,
    ...later,
    denials,
    userKind: userKindName,
    account: parts.first.account,
    provider: await providerOf(config),
    documents: { hosts: config.clientHosts, ca: await secretIn(config.caFile, 'HUTCH_CA_FILE') },
    clientNames: spellings(config.wireNames).oauthClients,
  })
  const { mail } = config
  if (mail.host) {
    const password = await secretIn(mail.passwordFile, 'HUTCH_SMTP_PASSWORD_FILE')
    sendMails({ ...parts, send: smtpSend({ ...mail, password }) }, closer)
  }
  return {
    identity,
    keys: createKeys({ tenants, clock, uses, tokens: eitherOf(identity.tokens, machines) }),
    standing: createStanding({ clock, log }, closer),
    personalKeys: personalKeys({ tenants, clock, ids, uses }),
    denials,
    remoteOf: remoteBehind(config.trustedProxies),
  }
}
