/** Links that let people in, and the way back from the operator's provider. */
import { fail, isError } from '../../../shared/errors.ts'
import { handle, Reply, type Bound, type Context, type Request } from '../../../shared/route.ts'
import { wantsHtml } from '../web/html/accept.ts'
import { forgottenCookie, keptCookie, keptIn } from '../access/identity/elsewhere/cookie.ts'
import type { Claims } from '../access/identity/elsewhere/claims.ts'
import type { Identity } from '../access/identity/identity.ts'
import type { Door } from '../access/identity/joining.ts'
import { joinedPage, joinPage, onwardPage, type JoinAsked } from '../access/identity/pages.ts'
import { comeBack } from '../access/identity/sign-in.ts'
import { page, shown } from './shown.ts'
import { byOf, formOf, stepped, type SignInDeps } from './sign-in-step.ts'
import * as declared from './sign-in-declarations.ts'

const gone = () => fail('not_found', { kind: 'link', name: 'any more: it was used or is over' })

const purposeOf = ({ purpose }: Door): JoinAsked['purpose'] => (purpose === 'mailed' ? 'invitation' : purpose)

const askedOf = (door: Door, { elsewhere }: Identity): JoinAsked => ({
  purpose: purposeOf(door),
  for: door.email,
  isKnown: door.person !== undefined,
  provider: elsewhere?.name,
  ...(door.invitation
    ? { workspace: door.invitation.workspace, invitedBy: door.invitation.record.metadata.createdBy }
    : {}),
})

const needDoor = async ({ joining }: Identity, token: string): Promise<Door> => {
  const door = await joining.door(token)
  if (!door) throw gone()
  return door
}

/** Who made a mistake is asked again. */
const mended = ['invalid_argument', 'already_exists', 'unauthenticated', 'too_many_attempts', 'forbidden'] as const

const join = async (identity: Identity, token: string, form: URLSearchParams, context: Context): Promise<Reply> => {
  const [email = '', name = '', password = ''] = ['email', 'name', 'password'].map(one => form.get(one) ?? '')
  const door = await needDoor(identity, token)
  try {
    const { person } = await identity.joining.join({ token, email, name, password }, byOf(context))
    return page(joinedPage(purposeOf(door), person.email))
  } catch (error) {
    const isTheirs = isError(error) && mended.some(code => error.code === code)
    if (!isTheirs || !wantsHtml(context.request)) throw error
    return page(joinPage({ ...askedOf(door, identity), wrong: error.message, email, name }), error.status)
  }
}

/** To the provider with a link in the hand. */
const leave = async (identity: Identity, token: string): Promise<Reply> => {
  const { elsewhere, issuer } = identity
  await needDoor(identity, token)
  if (!elsewhere) throw fail('not_found', { kind: 'provider', name: 'of this host' })
  const { url, kept } = await elsewhere.begin(JSON.stringify({ token }))
  return page(onwardPage(url, `To ${elsewhere.name}`), 200, [keptCookie(kept, issuer())])
}

interface Goal {
  readonly uid?: string
  readonly token?: string
}

/** Whoever is not let in is told why, on the page where there are other ways. */
const signInAs = async (
  { identity, denials }: SignInDeps,
  uid: string,
  claims: Claims,
  context: Context,
): Promise<Reply> => {
  const { request } = context
  const by = byOf(context)
  const back = async (who: Parameters<typeof comeBack>[3]) =>
    shown(await stepped(() => comeBack(identity, request, uid, who)), identity.issuer())
  try {
    const person = await identity.admit(claims, by)
    await identity.people.signedIn(person, by, { issuer: claims.issuer })
    return await back({ sub: person.sub })
  } catch (error) {
    if (!isError(error, 'forbidden')) throw error
    denials.note({ ...by, account: '', workspace: '', endpoint: declared.elsewhereCallback.id, reason: error.message })
    return back({ wrong: error.message })
  }
}

const returned = async (deps: SignInDeps, context: Context): Promise<Reply> => {
  const { identity } = deps
  const { request } = context
  if (!identity.elsewhere) throw fail('not_found', { kind: 'provider', name: 'of this host' })
  const { claims, goal } = await identity.elsewhere.finish(request.rawQuery, keptIn(request.headers.cookie))
  const { uid = '', token } = JSON.parse(goal) as Goal
  if (token === undefined) return signInAs(deps, uid, claims, context)
  const person = await identity.admitWith(await needDoor(identity, token), claims, byOf(context))
  return page(joinedPage('invitation', person.email))
}

/** Whoever guesses is stopped, from wherever they do it; what was no mistake does not count. */
const counted = async ({ arrival }: Identity, request: Request, answer: () => Promise<Reply>): Promise<Reply> => {
  const wasGood = arrival(request)
  const reply = await answer()
  if (reply.status < 400) wasGood()
  return reply
}

export const joinRoutes = (deps: SignInDeps): Bound[] => {
  const { identity } = deps
  return [
    handle(declared.joinPage, ({ query }, { request }) =>
      counted(identity, request, async () => page(joinPage(askedOf(await needDoor(identity, query.token), identity)))),
    ),
    handle(declared.submitJoin, async ({ query }, context) => {
      const form = new URLSearchParams(await formOf(context.request))
      return counted(identity, context.request, () =>
        form.get('do') === 'elsewhere' ? leave(identity, query.token) : join(identity, query.token, form, context),
      )
    }),
    handle(declared.elsewhereCallback, async (_input, context) => {
      const reply = await counted(identity, context.request, () => returned(deps, context))
      // It was good once, whatever came of it.
      return new Reply(reply.status, reply.headers, reply.body, [...reply.cookies, forgottenCookie(identity.issuer())])
    }),
  ]
}
