/** A fatal alert as a record of its own, for who cannot be answered in another way (RFC 8446, section 6). */
const alertRecord = 21
const fatal = 2

const codes = { accessDenied: 49, decodeError: 50, unrecognizedName: 112 } as const

export const alert = (code: keyof typeof codes): Buffer => Buffer.from([alertRecord, 3, 3, 0, 2, fatal, codes[code]])
