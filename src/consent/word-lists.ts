/** The built-in lists of words, by language.
 *
 *  A list has words that mean nothing else as a whole message. It leaves out the words for "cancel", "end", "no" and "enough", which people
 *  also write when they are asked a question, such as whether they keep an appointment. In English such words are in the list, since the
 *  rule of the FCC names them. */

export type WordList = { readonly out: readonly string[]; readonly in: readonly string[]; readonly help: readonly string[] };

/** The words that no setting removes. The first seven opt-out words are those of the rule of the FCC, 47 CFR 64.1200(a)(10). "Stop
 *  promotions" is the label of the button with which templates of WhatsApp offer an opt-out. The lists of languages have it as far as its
 *  translation is known. */
export const ALWAYS: WordList = {
  out: ["STOP", "QUIT", "END", "REVOKE", "OPT OUT", "CANCEL", "UNSUBSCRIBE", "STOP ALL", "STOP PROMOTIONS", "ARRÊT"],
  in: ["START", "UNSTOP", "SUBSCRIBE"],
  help: ["HELP", "INFO"],
};

export const LANGUAGES = {
  ar: {
    out: ["إيقاف", "توقف", "أوقف", "إلغاء الاشتراك", "ألغ الاشتراك"],
    in: ["اشتراك", "اشترك"],
    help: ["مساعدة"],
  },
  de: {
    out: ["STOPP", "ABMELDEN", "ABMELDUNG", "ABBESTELLEN", "AUSTRAGEN"],
    in: ["ANMELDEN", "ABONNIEREN"],
    help: ["HILFE"],
  },
  es: {
    out: [
      "BAJA",
      "DAR DE BAJA",
      "DARME DE BAJA",
      "DARSE DE BAJA",
      "DETENER",
      "DETENER PROMOCIONES",
      "PARAR",
      "DESUSCRIBIR",
      "DESUSCRIBIRME",
      "DESUSCRIBIRSE",
    ],
    in: ["SUSCRIBIR", "SUSCRIBIRME", "REANUDAR"],
    help: ["AYUDA"],
  },
  fr: {
    out: ["ARRÊTER", "ARRÊTEZ", "DÉSABONNER", "ME DÉSABONNER", "SE DÉSABONNER", "DÉSABONNEMENT", "DÉSINSCRIRE", "DÉSINSCRIPTION"],
    in: ["S'ABONNER", "M'ABONNER", "RÉABONNER", "REPRENDRE"],
    help: ["AIDE"],
  },
  hi: {
    out: ["रोकें", "रोको", "रोकिए", "बंद करें", "बंद करो", "स्टॉप", "सदस्यता समाप्त करें"],
    in: ["शुरू करें", "सदस्यता लें"],
    help: ["मदद", "सहायता"],
  },
  id: {
    out: ["BERHENTI", "BERHENTI BERLANGGANAN"],
    in: ["BERLANGGANAN"],
    help: ["BANTUAN"],
  },
  it: {
    out: ["FERMA", "FERMARE", "INTERROMPI PROMOZIONI", "DISISCRIVI", "DISISCRIVIMI", "DISISCRIVERMI", "CANCELLAMI"],
    in: ["ISCRIVIMI", "ISCRIVERMI"],
    help: ["AIUTO"],
  },
  ja: {
    out: ["停止", "配信停止", "ストップ"],
    in: ["配信開始", "配信再開"],
    help: ["ヘルプ"],
  },
  ko: {
    out: ["중지", "수신 거부"],
    in: ["수신 동의"],
    help: ["도움말"],
  },
  nl: {
    out: ["STOPPEN", "AFMELDEN", "UITSCHRIJVEN"],
    in: ["AANMELDEN", "INSCHRIJVEN"],
    help: ["HULP"],
  },
  pl: {
    out: ["ZATRZYMAJ", "WYPISZ", "WYPISZ MNIE", "NIE WYSYŁAJ", "NIE WYSYLAJ"],
    in: ["ZAPISZ MNIE", "SUBSKRYBUJ"],
    help: ["POMOC"],
  },
  pt: {
    out: ["PARAR", "PARAR PROMOÇÕES", "PARE", "SAIR", "DESCADASTRAR", "DESCADASTRE", "DESINSCREVER", "CANCELAR INSCRIÇÃO"],
    in: ["INSCREVER", "ME INSCREVER", "RETOMAR"],
    help: ["AJUDA"],
  },
  ru: {
    out: ["СТОП", "ОТПИСАТЬСЯ", "ОТПИСАТЬ", "ОТПИСКА", "ОТПИШИТЕ"],
    in: ["ПОДПИСАТЬСЯ", "ПОДПИСКА", "СТАРТ"],
    help: ["ПОМОЩЬ", "СПРАВКА"],
  },
  sv: {
    out: ["STOPPA", "AVREGISTRERA"],
    in: ["PRENUMERERA"],
    help: ["HJÄLP"],
  },
  // İYS, the Turkish registry of consent, prescribes RET, which is also written RED: a color in English.
  tr: {
    out: ["RET", "RED", "DUR", "İPTAL", "ABONELİKTEN ÇIK"],
    in: ["ONAY"],
    help: ["YARDIM"],
  },
  uk: {
    out: ["СТОП", "ВІДПИСАТИСЯ", "ВІДПИСАТИСЬ", "ВІДПИСКА"],
    in: ["ПІДПИСАТИСЯ", "ПІДПИСАТИСЬ"],
    help: ["ДОПОМОГА"],
  },
  zh: {
    out: ["停止", "退订", "退訂", "取消订阅", "取消訂閱"],
    in: ["订阅", "訂閱"],
    help: ["帮助", "幫助"],
  },
} as const satisfies Record<string, WordList>;

export type Language = keyof typeof LANGUAGES;

export const LANGUAGE_CODES = Object.keys(LANGUAGES) as readonly Language[];

/** The languages with a word that is an ordinary reply, in that language or in another. An account turns them on itself. */
const AMBIGUOUS: ReadonlySet<Language> = new Set(["tr"]);

export const DEFAULT_LANGUAGES = LANGUAGE_CODES.filter((language) => !AMBIGUOUS.has(language));
