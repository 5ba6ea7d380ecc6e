/** What a secret looks like to everybody who may not see it; sent back in an update, it means "as it was". */
export const mask = '***'
