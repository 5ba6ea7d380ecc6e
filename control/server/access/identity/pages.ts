/** What people see while they sign in. No page runs a script. */
import { Html, html } from '../../web/html/html.ts'
import { pageText } from '../../web/html/page.ts'

const page = (title: string, root: string, body: Html): string =>
  pageText({ title, root, body: html`<main>\n<h1>${title}</h1>\n${body}\n</main>` })

/** Of whoever has no cookie of the step, or one that is over. */
export const stepIsOver = 'this sign-in is over or was begun elsewhere; begin again'

const nothing = html``
const wrongLine = (wrong: string | undefined): Html =>
  wrong === undefined ? nothing : html`<p class="wrong" role="alert">${wrong}</p>\n`

const field = (name: string, label: string, more: Html): Html =>
  html`<label>${label}<input name="${name}" ${more}></label>\n`

/** From `/v0/oauth/interaction/:uid`. */
const deep = '../../../'
/** From `/v0/oauth/x`. */
const shallow = '../../'

/** Another way in, where the operator has a provider. */
const elsewhereForm = (provider: string | undefined): Html =>
  provider === undefined
    ? nothing
    : html`<form method="post" class="other"><button name="do" value="elsewhere">Sign in with ${provider}</button></form>\n`

interface SignInAsked {
  readonly email?: string
  readonly wrong?: string | undefined
  /** Name of the operator's provider. */
  readonly provider?: string | undefined
}

export const signInPage = ({ email = '', wrong, provider }: SignInAsked): string =>
  page(
    'Sign in',
    deep,
    html`${wrongLine(wrong)}${elsewhereForm(provider)}<form method="post">
${field('email', 'E-mail address', html`type="email" value="${email}" required autocomplete="username"`)}${field('password', 'Password', html`type="password" required autocomplete="current-password"`)}<button name="do" value="sign-in">Sign in</button>
</form>`,
  )

export const consentPage = (asked: {
  client: string
  to: string
  email: string
  scopes: readonly string[]
}): string => {
  const { client, to, email, scopes } = asked
  const all = scopes.includes('admin')
  return page(
    'Let it act for you?',
    deep,
    html`<p><b>${client}</b> asks to act for <b>${email}</b>. The answer goes to <code>${to}</code>.</p>
${
  all
    ? html`<p>It could do <b>everything that you may do</b> here, until you revoke it.</p>`
    : html`<p>It could do:</p><ul>${scopes.map(scope => html`<li><code>${scope}</code></li>`)}</ul>`
}
<form method="post">
<button name="do" value="allow">Allow</button> <button name="do" value="deny">Deny</button>
</form>`,
  )
}

/** What somebody with a link is asked. */
export interface JoinAsked {
  readonly purpose: 'admin' | 'invitation' | 'password'
  /** Whom the link is for. */
  readonly for?: string | undefined
  /** They have a password here. */
  readonly isKnown: boolean
  readonly workspace?: string
  readonly invitedBy?: string
  readonly provider?: string | undefined
  readonly wrong?: string
  readonly email?: string
  readonly name?: string
}

const titles = { admin: 'The first admin', invitation: 'You are invited', password: 'A new password' } as const

const invitationLine = ({ workspace = '', invitedBy = '', isKnown }: JoinAsked): Html =>
  html`<p><b>${invitedBy}</b> invites you to the workspace <b>${workspace}</b>. ${isKnown ? 'Sign in to accept.' : 'Choose a name and a password to accept.'}</p>\n`

const passwordField = (isKnown: boolean): Html =>
  isKnown
    ? field('password', 'Password', html`type="password" required autocomplete="current-password"`)
    : field(
        'password',
        'Password; twelve characters or more',
        html`type="password" required minlength="12" autocomplete="new-password"`,
      )

/** Password managers keep a password under the address that stands beside it. */
const addressField = ({ for: fixed, email = '' }: JoinAsked): Html =>
  fixed === undefined
    ? field('email', 'E-mail address', html`type="email" value="${email}" required autocomplete="username"`)
    : field('email', 'E-mail address', html`type="email" value="${fixed}" readonly autocomplete="username"`)

const buttons = { admin: 'Create', invitation: 'Accept', password: 'Save' } as const

export const joinPage = (asked: JoinAsked): string => {
  const { purpose, isKnown, wrong, provider, name = '' } = asked
  const asksName = purpose !== 'password' && !isKnown
  return page(
    titles[purpose],
    shallow,
    html`${purpose === 'invitation' ? invitationLine(asked) : nothing}${wrongLine(wrong)}${purpose === 'invitation' ? elsewhereForm(provider) : nothing}<form method="post">
${addressField(asked)}${asksName ? field('name', 'Name', html`value="${name}" required autocomplete="name"`) : nothing}${passwordField(purpose === 'invitation' && isKnown)}<button name="do" value="join">${buttons[purpose]}</button>
</form>`,
  )
}

const joined = {
  admin: 'You are an admin',
  invitation: 'You are in',
  password: 'The password is set',
} as const

export const joinedPage = (purpose: JoinAsked['purpose'], email: string): string =>
  page(
    joined[purpose],
    shallow,
    html`<p><b>${email}</b> can sign in now, from any client of this host.</p>
<p>A command line or an MCP client leads you to the page where you do. You can close this one.</p>`,
  )

/** A page that goes on at once: a form may not be answered with a redirect to another origin under our policy. */
export const onwardPage = (url: string, title = 'Going back'): string =>
  page(
    title,
    deep,
    html`<meta http-equiv="refresh" content="0; url=${url}">
<p><a href="${url}">Go on</a></p>`,
  )

/** `form` is the provider's, without a button. */
export const deviceCodePage = (form: string, error: Error | undefined): string =>
  page(
    'Sign in on a device',
    shallow,
    html`<p>Type the code that the program shows.</p>
${wrongLine(error && 'That code is not one, or its time is over.')}${new Html(form)}
<button form="op.deviceInputForm">Go on</button>`,
  )

/** A form of the provider that its own page would send by a script; `fields` are its hidden ones. */
export const deviceGoOnPage = (fields: string): string =>
  page(
    'Sign in on a device',
    shallow,
    html`<p>A program on this or another machine has led you here.</p>
<form method="post">${new Html(fields)}<button>Go on</button></form>`,
  )

export const deviceConfirmPage = (form: string, { client, code }: { client: string; code: string }): string =>
  page(
    'Is this your program?',
    shallow,
    html`<p><b>${client}</b> shows this code:</p><p><code>${code}</code></p>
<p>Go on only when you started it yourself, and it shows the same code.</p>${new Html(form)}
<button form="op.deviceConfirmForm">Go on</button>
<button form="op.deviceConfirmForm" name="abort" value="yes">It is not mine</button>`,
  )

export const deviceDonePage = (): string =>
  page('Done', deep, html`<p>The program is signed in. You can close this page.</p>`)
