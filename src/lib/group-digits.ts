/** A whole number for people, such as 10,000. Formatting by locale would load ICU, which takes 30 ms of each start. */
export const groupDigits = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3}){1,99}$)/g, ",");
