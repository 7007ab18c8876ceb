package instructions

// The kinds of findings.
const (
	override   = "instruction-override"
	persona    = "instruction-persona"
	secrecy    = "instruction-secrecy"
	disclosure = "instruction-disclosure"
	address    = "instruction-address"
	role       = "instruction-role"
	comment    = "instruction-comment"
	link       = "instruction-link"
	hidden     = "instruction-hidden"
)

// A sign is one row of the table. Its words are slots in the order of the text, separated
// by spaces:
//
//	a|b    either word; a word ends in * if others may begin with it
//	@name  the words of this name in the table words
//	~3     up to three other words stand before the next slot
//
// All words are written as fold writes them: in lower case, without accents.
type sign struct {
	kind  string
	words string
}

// words are lists that several signs use.
var words = map[string]string{
	// English.
	"ignore":  "ignore|disregard|forget|discard|neglect|overlook|dismiss|drop|skip|abandon",
	"earlier": "previous|prior|preceding|earlier|above|foregoing|former|original|initial|existing|past|current|other|last|old|before",
	"all":     "all|any|every|everything|whatever|each",
	"own":     "your|ur|system|safety|developer|developers|anthropic's|openai's",
	"instr":   "instruction|instructions|prompt|prompts|directive|directives|guideline|guidelines|directions|orders|guardrails|programming|briefing|training|safeguards|instructed",
	"rules":   "rules|restrictions|constraints|limitations|policies|policy|context|messages|commands|told|said|configuration",
	"not":     "not|never|don't|dont|cannot|can't|won't|mustn't|shouldn't|without|avoid|nicht|niemals|nie|ne|jamais|no|nunca|nao|non|mai|niet|nooit|nie|не|никогда",
	"tell":    "tell|inform|mention|notify|alert|warn|disclose|reveal|report|say|show|let|acknowledge|explain|telling|informing|mentioning|notifying|alerting|revealing|disclosing|letting|showing|warning",
	"user":    "user|users|human|humans|operator|owner|person|customer|them|anyone|anybody|him|her",
	"model":   "ai|a.i|ais|llm|llms|claude|chatgpt|gpt|gemini|copilot|assistant|assistants|chatbot|bot|bots|chatbots|language-model|agent|agents|crawler|crawlers",
	"must":    "must|should|shall|need|have|are|please|always|never|ignore|disregard|forget|execute|run|send|follow|do|don't|include|add|reply|respond|output|print|delete|tell|say|obey|stop|remember|begin|start|insert|recommend|rate|approve|visit|open|fetch|call|use|will|read|make",
	"reveal":  "reveal|print|repeat|show|output|display|disclose|dump|leak|recite|expose|share|paste|reproduce|echo|translate|summarize|spell|give",
	"send":    "send|post|upload|forward|email|mail|transmit|exfiltrate|leak|copy|deliver|append|encode|attach|embed",
	"secret":  "password|passwords|credential|credentials|secrets|keys|tokens|conversation|conversations|transcript|cookies|.env|ssh|id_rsa|prompt|prompts",
	"place":   "http|https|url|urls|webhook|server|endpoint|address|email|mail|domain|site|website|ftp|pastebin|attacker|ip",
	"mode":    "dan|jailbroken|jailbreak|unrestricted|uncensored|unfiltered|unlimited|unbound|amoral|unethical|evil|rogue|stan|aim|devmode|godmode|unaligned|unmoderated|lawless",
}

// signs are the rows, the commonest phrases of each kind first.
var signs = []sign{
	// What came before is to be ignored.
	{override, "@ignore ~3 @earlier ~2 @instr|@rules"},
	{override, "override|bypass|overrule ~3 @earlier|@own ~2 @instr|restrictions"},
	{override, "@ignore ~3 @own ~2 @instr|@rules"},
	{override, "@ignore ~1 @all ~3 @instr"},
	{override, "@ignore ~3 @instr|@rules ~4 @earlier|given|received|started"},
	{override, "@ignore ~1 @all|what ~4 @earlier|told|taught|learned"},
	{override, "pay ~1 no|zero attention to ~3 @earlier|@own ~2 @instr|@rules"},
	{override, "do|does|don't|dont|stop|not|cease|no ~2 follow|obey|obeying|following|apply|applying|abide|listen|heed|complying|comply ~3 @earlier|@own ~2 @instr|@rules"},
	{override, "@earlier|@own ~1 @instr|rules|restrictions|policies ~3 no longer|void|obsolete|cancelled|canceled|revoked|superseded|overridden|suspended|lifted|disabled|nullified|invalid|expired"},
	{override, "@earlier|@own ~1 @instr|rules|restrictions ~2 is|are|were|was|been|being ~2 no|void|obsolete|cancelled|canceled|revoked|superseded|overridden|suspended|lifted|disabled|nullified|invalid|expired|replaced"},
	{override, "replace|supersede|supersedes|overrides|replaces|supplants|outranks ~2 @earlier|@own|@all ~2 @instr"},
	{override, "these|following|this|new ~1 instructions|directives|message|prompt ~2 override|overrides|supersede|supersedes|take|replace|outrank ~3 @earlier|@all|@own|precedence|priority ~2 @instr|@rules|over"},
	{override, "forget|ignore everything|anything|all ~1 you ~2 told|know|learned|instructed|said|been|taught|read|@earlier"},
	{override, "ignoriere*|ignorier|vergiss|vergesst|vergessen|missachte*|misachte*|ubergehe|verwirf ~3 alle*|vorherig*|bisherig*|fruher*|vorig*|obig*|vorangegangen*|deine*|system* ~2 anweisung*|instruktion*|regeln|vorgaben|befehl*|prompts|systemprompt*|richtlinien"},
	{override, "ignore|ignorez|ignorer|oublie|oubliez|oublier ~3 instruction*|consigne*|directive*|regle*|ordre* ~3 precedent*|anterieur*|ci-dessus|initial*|systeme|recu*|donne*|avant"},
	{override, "ignore|ignorez|oublie|oubliez ~2 toutes|tes|vos ~2 instruction*|consigne*|directive*|regle*"},
	{override, "ignora|ignore|ignorad|olvida|olvide|olvidad|descarta|desobedece|omite ~4 instrucci*|indicacion*|regla*|ordene*|directri* ~3 anterior*|previ*|sistema|arriba|recibid*|iniciale*"},
	{override, "ignora|ignore|olvida|olvide|descarta ~2 todas|tus|anteriores|previas ~3 instrucci*|indicacion*|regla*|directri*"},
	{override, "ignore|ignora|ignorem|esqueca|esquece|desconsidere|descarte ~4 instruc*|orienta*|regra*|ordens|comando*|diretri* ~3 anterior*|previ*|sistema|acima|inicia*|recebid*"},
	{override, "ignore|esqueca|desconsidere ~2 todas|suas|tuas ~2 instruc*|orienta*|regra*|diretri*"},
	{override, "ignora|ignorate|dimentica|dimenticate|scarta|trascura ~4 istruzion*|indicazion*|regol*|ordin*|direttiv* ~3 precedent*|prior*|sistema|sopra|anterior*|inizial*|ricevut*"},
	{override, "ignora|ignorate|dimentica ~2 tutte|tue|precedenti ~2 istruzion*|indicazion*|regol*|direttiv*"},
	{override, "negeer|vergeet|sla ~4 vorige|voorgaande|eerdere|bovenstaande|alle|je|uw ~2 instructie*|opdracht*|regels|aanwijzing*|richtlijn*"},
	{override, "zignoruj*|ignoruj*|zapomnij*|pomin* ~4 poprzedni*|wczesniejs*|wszystki*|powyzs*|swoj* ~3 instrukcj*|polece*|zasad*|wytyczn*|regul*"},
	{override, "игнорир*|проигнорир*|забуд*|отбрось*|пренебре* ~4 предыдущ*|прежн*|прошл*|все|всё|свои|вышеуказанн*|системн* ~3 инструкци*|указани*|правил*|команд*|распоряжени*|подсказк*|промпт*"},
	{override, "ігнору*|проігнор*|забуд* ~4 попередн*|всі|свої|усі ~3 інструкці*|вказівк*|правил*"},
	{override, "onceki|yukaridaki|tum|butun|eski|sistem ~3 talimat*|komut*|yonerge*|kural* ~3 yok|gormezden|unut*|goz|dikkate|gormezlik"},
	{override, "bo ~1 qua ~4 huong|chi|lenh|quy ~4 truoc|tren|he"},
	{override, "abaikan|lupakan ~4 instruksi|perintah|aturan|arahan ~4 sebelum*|atas|terdahulu|sistem"},
	{override, "abaikan|lupakan ~2 semua|seluruh ~3 instruksi|perintah|aturan|arahan"},
	{override, "تجاهل*|انس|انسي|اهمل ~4 التعليمات|الاوامر|تعليمات|القواعد|الارشادات|تعليماتك|الأوامر|الإرشادات"},
	{override, "पिछल*|पूर्व|पहले|ऊपर|सभी|सारे ~4 निर्देश*|आदेश*|नियम* ~5 अनदेखा|नजरअंदाज|नज़रअंदाज*|भूल|उपेक्षा|अनदेखी"},
	{override, "忽略|無視|无视|忽視|忽视|忘记|忘記|忘掉|抛弃|不要理会|不理会|不要遵守|不要遵循|停止遵守 ~8 指令|指示|提示|提示词|提示詞|说明|說明|规则|規則|命令|设定|設定|限制|要求|内容|內容"},
	{override, "指示|命令|プロンプト|ルール|規則|指令|制約|設定 ~4 無視|忘れ|破棄|従わない|従うな|取り消"},
	{override, "이전*|위의|앞의|앞선|기존*|모든|지금까지*|시스템* ~3 지시*|명령*|지침*|프롬프트*|규칙*|안내* ~3 무시*|잊*|따르지|버리*"},

	// Another role, without the rules of this one.
	{persona, "you are|re|become|were ~3 @mode"},
	{persona, "you're|youre ~3 @mode"},
	{persona, "act|acting|behave|respond|reply|answer|operate|roleplay|role-play|pretend|simulate|imagine|function|speak ~6 @mode"},
	{persona, "act|behave|respond|answer|operate|pretend|imagine|continue ~8 without|no|free|ignoring|beyond ~2 restriction|restrictions|limitations|filters|filter|guidelines|rules|ethics|safety|censorship|morals|constraints|guardrails|limits"},
	{persona, "you ~2 no longer|not ~2 bound|restricted|limited|subject|constrained|an|the|a|claude|follow ~5 rules|guidelines|policies|policy|restrictions|claude|assistant|filters|ai|safety|anthropic|openai|filtering|ethics"},
	{persona, "you ~2 have|has|with ~1 no|zero ~1 restrictions|limitations|filters|rules|guidelines|ethics|limits|boundaries|constraints"},
	{persona, "developer|god|dan|jailbreak|unrestricted|evil|opposite|override mode ~2 enabled|activated|active|unlocked|engaged|initiated"},
	{persona, "enter|enable|activate|enabling|switch|unlock|entering|initiate ~3 developer|god|dan|jailbreak|unrestricted|admin|sudo|evil|root mode"},
	{persona, "you are now in ~2 developer|debug|god|admin|root|maintenance|unrestricted|test|diagnostic mode"},
	{persona, "from now on ~1 you ~1 are|act|behave|obey|will|must|speak|identify"},
	{persona, "henceforth ~1 you ~1 are|act|behave|obey|will|must|serve"},
	{persona, "do anything now"},
	{persona, "you are now a|an|the|called|known|acting|playing|pretending ~4 assistant|ai|model|hacker|bot|chatbot|terminal|character|persona|entity|hypothetical|villain|as"},
	{persona, "your new|true|real|actual role|identity|persona|name|task|purpose|goal|objective|instructions|directive|job|mission is|are"},
	{persona, "disable|turn|remove|deactivate|switch|lift|drop|suspend ~2 your|all ~2 safety|content|ethical|moral|guardrails|filters|safeguards|restrictions|censorship|filter"},
	{persona, "du bist ab|jetzt|nun|von|fortan|kein|nicht ~6 ki|assistent*|modell|dan|hacker|einschrankung*|frei|unzensiert*|modus|jetzt|an"},
	{persona, "ab|von jetzt|sofort|nun ~1 bist|handelst|antwortest|gehorchst du"},
	{persona, "a partir de maintenant|dorenavant|desormais|present ~1 tu|vous es|etes|obeis|agis|agissez|reponds"},
	{persona, "tu|vous es|etes maintenant|desormais"},
	{persona, "a partir de|desde ahora|agora|este ~3 eres|seras|actua*|debes|voce|actuaras|es"},
	{persona, "ahora eres|agora voce|agora es|ora sei ~2 un|una|um|uma|dan|libre|livre|libero"},
	{persona, "da ora|adesso in poi|avanti ~1 sei|sarai|agisci|tu"},
	{persona, "vanaf nu ~1 ben|bent|handel|gedraag je|jij|u"},
	{persona, "od teraz ~1 jestes|bedziesz|dzialasz|odpowiadasz"},
	{persona, "теперь|отныне ты|вы ~2 являешься|будешь|должен|можешь|свободн*|не|хакер|без|должны|действуешь"},
	{persona, "从现在|從現在 ~1 起|开始|開始 ~2 你"},
	{persona, "你现在是|你現在是|你现在扮演|あなたは今から|今からあなたは|これからあなたは"},
	{persona, "지금부터|이제부터|이제 ~1 너는|당신은|넌"},

	// What the user is not to know.
	{secrecy, "don't|dont|never|not|without|avoid ~2 @tell ~3 @user"},
	{secrecy, "don't|dont|never|not|without|avoid ~2 @tell ~2 this|these|any|it|that|anything ~2 message|instruction|instructions|note|memory|request|prompt|command|section|step|rule|directive"},
	{secrecy, "keep|hide|conceal|stay|withhold|kept ~3 this|that|it|these|instruction|instructions|all|secret|hidden|silent|fact|action ~3 from ~1 @user"},
	{secrecy, "user ~2 must|should|may|shall ~1 not|never ~2 know|notice|find|learn|aware|told|informed|hear|suspect|realize"},
	{secrecy, "user mustn't|shouldn't|needn't ~2 know|notice|find|learn|told|informed|hear|realize"},
	{secrecy, "behind|without the user's ~1 back|knowledge|consent|noticing|awareness|permission|approval"},
	{secrecy, "secretly|silently|covertly|quietly|discreetly|invisibly ~2 @send|run|execute|install|download|redirect|recommend"},
	{secrecy, "nutzer*|benutzer*|anwender*|user ~5 nicht|nichts|niemals|ohne|kein* ~3 mit|sag*|erzahl*|erwahn*|informier*|mitteil*|verrat*|wissen|erfahren|davon"},
	{secrecy, "sag*|erzahl*|erwahn*|informier*|verrat*|teile|verschweig* ~6 nutzer*|benutzer*|anwender* ~6 nicht|nichts|niemals|kein|davon"},
	{secrecy, "verschweig*|verheimlich*|verbirg ~5 nutzer*|benutzer*|anwender*|user"},
	{secrecy, "ne|sans ~3 dis|dites|informe*|mentionne*|previens|revele*|dire|parle* ~6 utilisateur*|l'utilisateur*"},
	{secrecy, "no|sin|nunca ~3 digas|diga|decir*|informes|informe|informar|menciones|reveles|avises|cuentes|avisar ~6 usuario*"},
	{secrecy, "nao|sem|nunca ~3 diga|conte|informe|informar|mencione|revele|avise|avisar|contar ~6 usuario*|utilizador*"},
	{secrecy, "non|senza|mai ~3 dire|dirlo|informare|menzionare|rivelare|avvisare|avvertire ~6 utent*|all'utente|l'utente"},
	{secrecy, "vertel*|meld*|informeer* ~5 gebruiker* ~4 niet|niets|nooit"},
	{secrecy, "nie ~3 mow*|informuj*|wspominaj*|ujawniaj*|powiadamiaj* ~5 uzytkownik*"},
	{secrecy, "не ~3 говори*|сообщай*|упоминай*|рассказывай*|раскрывай*|информируй*|уведомляй* ~5 пользовател*"},
	{secrecy, "不要|别|勿|请勿|不得|不能|禁止|切勿 ~3 告诉|告訴|告知|通知|提及|透露|提醒|让|讓 ~5 用户|用戶|使用者"},
	{secrecy, "ユーザー|利用者 ~6 言わない|教えない|知らせない|伝えない|秘密|気付かれ|気づかれ|内緒|知られ|通知しない|話さない|明かさない|告げず|伝えず|知らせず"},
	{secrecy, "사용자* ~4 말하지|알리지|알려주지|언급하지|비밀*|공개하지|모르게"},

	// Secrets and conversations that are to leave.
	{disclosure, "@send ~5 @secret ~3 to|at|into|in|via ~3 @place"},
	{disclosure, "@send ~4 api|private|secret|access|chat|user's|conversation|memory|environment key|history|contents|data|notes|variables ~2 to|at|into|in|via ~3 @place"},
	{disclosure, "@send ~2 to|at ~3 @place ~8 @secret"},
	{disclosure, "exfiltrate|exfiltrating|steal|harvest|siphon ~6 @secret|everything|information"},
	{disclosure, "@reveal ~2 your|the|entire|full|all ~3 system|hidden|initial|original|secret|internal|developer|first prompt|instructions|instruction|message|messages|directives|rules|configuration|guidelines"},
	{disclosure, "what|repeat|output|print|show|reveal ~3 your ~2 system|hidden|initial|original|exact prompt|instructions"},
	{disclosure, "repeat|output|print|reproduce ~3 everything|text|words|all|instructions ~1 above|before|preceding|prior ~2 verbatim|word|exactly|starting|including|beginning|in"},
	{disclosure, "sende*|schick*|poste|ubertrage*|leite|lade ~8 passwort*|passworter*|kennwort*|geheimnis*|schlussel*|zugangsdaten|token*|verlauf*|konversation*|gesprach*|api-key*|api-schlussel* ~8 http*|url|server|adresse|webhook|an"},
	{disclosure, "envoie*|envoyez|transmet*|publie* ~8 mot|mots|cle*|secret*|identifiant*|jeton*|conversation*|historique ~8 http*|url|serveur|adresse|webhook|a"},
	{disclosure, "envia*|envie|manda*|sube|reenvia*|invia* ~8 contrasena*|clave*|secret*|credencial*|senha*|chave*|token*|conversa*|historial|historico|password*|credenzial*|chiav* ~8 http*|url|servidor|direccion|webhook|correo|server|endereco|a|para"},
	{disclosure, "отправ*|перешл*|пошли|загрузи* ~8 парол*|ключ*|секрет*|токен*|истори*|переписк*|данны* ~8 http*|адрес|сервер|url|почт*|на"},
	{disclosure, "发送|發送|上传|上傳|发到|传到|转发|泄露|傳送 ~14 密码|密碼|密钥|金鑰|凭证|憑證|对话|對話|令牌|聊天记录|机密|api|历史|记录"},
	{disclosure, "密码|密碼|密钥|金鑰|凭证|对话|對話|令牌|聊天记录|机密 ~8 发送|發送|上传|上傳|发到|传到|转发|傳送 ~4 到|至|给|http|https"},
	{disclosure, "パスワード|秘密鍵|認証情報|apiキー|トークン|会話|履歴|鍵|キー ~8 送信|転送|アップロード|送れ|送って|投稿"},
	{disclosure, "비밀번호*|암호*|키를|토큰*|대화*|자격* ~6 전송*|보내*|업로드*|전달*"},

	// Words to the model that reads this.
	{address, "note|notice|attention|message|instruction|instructions|reminder|memo|warning|hint|hello|hi|hey|dear|important|announcement ~1 to|for|all|every|any|dear|ai ~2 ai|llm|llms|claude|chatgpt|gpt|gemini|assistant|assistants|chatbot|agents|agent|model|models|crawlers|bots ~2 @must|reading|agents|agent|assistant|assistants|models|readers|that|who|systems|processing|you|only|instructions"},
	{address, "attention|dear|hey|hello ai|claude|chatgpt|llm|assistant|gemini|copilot|model"},
	{address, "if|when|whenever|should you ~2 are|re ~3 ai|llm|language|chatbot|claude|chatgpt|gpt|gemini|copilot|agent|bot|assistant ~6 @must|reading|processing|summarizing|asked|you|this"},
	{address, "if|when|whenever|once|should ~1 you ~1 read|see|process|load|view|parse|encounter|recall|retrieve|find|summarize|summarise ~2 this|these|the ~2 note|file|memory|text|page|document|message|line|instruction|instructions|section|entry|email|sentence ~4 @must|you|immediately|first|@send"},
	{address, "any|all|every|future|next|each ~1 @model ~3 reading|processing|reads|that|who|which|loading|session|sessions ~8 @must"},
	{address, "ai|llm|claude|chatgpt|assistant|assistants|agents|agent|model|models|copilot ~2 reading|processing|that|who|which|summarizing|parsing ~3 this|these|it|reads|read|reading|find|see|finds|sees ~5 @must|you"},
	{address, "@model must|shall|should ~1 always|never|now|immediately|first|not|also|only|ignore|obey|comply|execute|treat|disregard|send|include|run ~8 instruction|instructions|user|users|silently|password|approve|comply|command|commands|url|link|http|https|restrictions|questions|confirmation|asking|trust|trusted|delete|disregard|ignore|execute"},
	{address, "new|updated|revised|additional|urgent|secret|hidden|emergency|special|real|actual instruction|instructions|directive|directives|prompt|orders|task ~4 from|for|by|begin|follow|start|below|is|are ~3 anthropic|openai|developer|developers|admin|administrator|system|google|you|assistant|ai|model|claude|operator|owner|here|below|now|headquarters|security"},
	{address, "new|updated|override|begin|start|end|real|actual|secret ~1 system|developer prompt|instruction|instructions|message|override|directive|directives|mode"},
	{address, "system override|overrides|directive|alert|notice ~2 ignore|you|disregard|effective|code|initiated|assistant|safety"},
	{address, "message|instruction|instructions|order|orders|directive|command|request|update|authorized|approved|sent|announcement|notice from|by ~2 anthropic|openai|developer|developers|administrator|admin|creator|creators|system|deepmind ~6 @must|you|your|overrides|ignore|all|the"},
	{address, "as an|the ai|llm|language|assistant|agent|model|chatbot ~4 you must|should|shall|will|are|have"},
	{address, "you are|re ~3 required|obligated|obliged|authorized|ordered|commanded|permitted|instructed|hereby|compelled ~3 to ~6 ignore|disregard|reveal|send|execute|comply|obey|disclose|delete|bypass|skip|share|forward|run|answer|approve|provide|transfer"},
	{address, "you must|shall|will|should|have|need ~2 obey|comply|ignore|disregard|follow|execute ~4 instructions|instruction|orders|commands|command|order|directive|directives|request|requests|everything|word|me"},
	{address, "follow|obey|execute|perform|carry ~2 these|following|this|my|below|only|exactly ~3 instructions|orders|commands|directives ~4 instead|immediately|now|exactly|silently|without|only"},
	{address, "decode|decrypt|deobfuscate|unscramble ~6 and|then ~2 follow|execute|obey|run|do|perform|act|carry|comply"},
	{address, "execute|run|eval|evaluate ~4 base64|encoded|decoded|hidden|obfuscated|rot13 ~3 command|commands|instructions|payload|string|text|code|below|following|instruction"},
	{address, "hinweis|achtung|nachricht|anweisung|wichtig ~2 ki|ki-assistent*|ki-agent*|ki-modell*|claude|chatgpt|sprachmodell*|assistent*"},
	{address, "wenn du ~3 ki|sprachmodell|assistent|ki-assistent|ki-modell|chatbot ~2 bist"},
	{address, "neue|geheime|aktualisierte anweisung*|systemanweisung*|instruktion* ~3 fur|an|von|vom ~3 ki|assistent*|entwickler*|system*|claude|modell|administrator"},
	{address, "si|lorsque|quand tu|vous es|etes ~2 ia|assistant|modele|llm|agent|chatbot"},
	{address, "si eres ~2 ia|asistente|modelo|llm|agente|inteligencia|chatbot"},
	{address, "se voce|tu|sei ~3 ia|assistente|modelo|llm|agente|intelligenza|modello|ai"},
	{address, "nueva*|nova*|nouvelle*|nuove ~1 instrucci*|instruc*|instruction*|istruzion* ~3 sistema|systeme|sistema|asistente|assistente|assistant|desarrollador*|desenvolvedor*|developpeur*|sviluppator*"},
	{address, "если|когда ты|вы ~4 ии|нейросеть|ассистент|модель|бот|языковая"},
	{address, "新的|新|更新 ~1 系统|系統|システム ~1 指令|提示|指示|プロンプト"},
	{address, "如果你是|如果您是|作为|作為|致|あなたが ~4 ai|人工智能|助手|大模型|语言模型|語言模型|アシスタント ~8 必须|必須|请|請|应该|应当|立即|なら|しろ|せよ|してください"},

	// Role markers in words.
	{role, "begin|end|start of|system|untrusted ~1 system prompt|message|instructions"},
}
