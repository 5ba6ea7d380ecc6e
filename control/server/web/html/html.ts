/** HTML as text: what is put into a template is escaped unless it is HTML itself. */

export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const shown = (value: string | Html | readonly Html[]): string => {
  if (value instanceof Html) return value.text
  if (typeof value === 'string') return value.replace(/[&<>"']/g, one => entities[one] as string)
  return value.map(({ text }) => text).join('')
}

/** A template: html`<b>${name}</b>`. */
export const html = (parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html =>
  new Html(parts.map((part, index) => part + (index < values.length ? shown(values[index] as string) : '')).join(''))
